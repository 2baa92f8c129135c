// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where the threads of the host spent their time: by name, and as a tree that adds up equal paths,
// which is what a flame graph draws.
//
//   const HostTime host = host_time(trace);
//   for (const NameTime& op : host.operators) std::cout << op.name << " " << op.self_ns << "\n";
//   const FlameNode& root = host.flame.front();  // its time is that of all threads
//
// The own time of a span is what no span inside of it covers. The own time of a node and the times
// of its children add up to its time, but where spans of one thread overlap in part.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

struct NameTime {
  std::string name;
  Nanos self_ns = 0;  // without what is inside; of device work all of it
  Nanos total_ns = 0;
  std::uint64_t count = 0;
};

// One path from a thread inwards. Steps are all named `ProfilerStep*`.
struct FlameNode {
  std::string name;
  std::uint32_t parent = 0;  // stands before it; the root is its own
  std::uint32_t depth = 0;
  Nanos total_ns = 0;
  Nanos self_ns = 0;
  std::uint64_t count = 0;
};

struct HostTime {
  std::vector<NameTime> operators;  // by own time, the longest first
  std::vector<FlameNode> flame;     // the root first; empty if no thread has spans
};

HostTime host_time(const Trace& trace);
// Kernels, copies and fills by name, the longest first.
std::vector<NameTime> device_work_by_name(const Trace& trace);

}  // namespace sonde
