// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where the host's threads spent their time: by name, and as a tree that adds up equal paths, as a
// flame graph shows it.
//
//   const HostTime host = host_time(trace);
//   for (const NameTime& op : host.operators) std::cout << op.name << " " << op.self_ns << "\n";
//   const FlameNode& root = host.flame.front();  // its time is that of all threads
//
// The self time of a span is the time that no span inside it covers. The self time of a node and
// the times of its children add up to its time, unless spans of a thread partly overlap.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

struct NameTime {
  std::string name;
  Nanos self_ns = 0;  // without the spans inside; for device work, all of it
  Nanos total_ns = 0;
  std::uint64_t count = 0;
};

// One path from a thread inwards; of very many, the first. Steps are all named `ProfilerStep*`.
struct FlameNode {
  std::string name;
  std::uint32_t parent = 0;  // comes before it; the root is its own parent
  std::uint32_t depth = 0;
  Nanos total_ns = 0;
  Nanos self_ns = 0;
  std::uint64_t count = 0;
};

struct HostTime {
  std::vector<NameTime> operators;  // by self time, longest first
  std::vector<NameTime> scopes;     // and what the program marked itself
  std::vector<FlameNode> flame;     // the root first; empty if no thread has spans
};

HostTime host_time(const Trace& trace);
// Device work below the host's spans that launched it: the time is that of the work. Its leaves are
// kernels, copies and fills; work that nobody is known to have launched is below the root.
std::vector<FlameNode> device_flame(const Trace& trace);
// Kernels, copies and fills by name, the longest first.
std::vector<NameTime> device_work_by_name(const Trace& trace);

}  // namespace sonde
