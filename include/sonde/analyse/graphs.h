// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How much of a program ran in captured graphs: torch.compile's, TorchScript's, CUDA's and those
// that the program marked (sonde/profile/dynamo_profiler.h); what ran outside, and where graphs
// broke.
//
//   const GraphCoverage graphs = graph_coverage(trace);
//   std::cout << graphs.inside.ops << " of " << graphs.inside.ops + graphs.outside.ops << "\n";
//   for (const OutsideOp& op : graphs.outside_ops)
//     std::cout << op.name << " " << op.host_ns << "\n";
//
// Each operator, each kernel, copy or fill, and each moment of the host belongs to the innermost
// graph around it. The regions add up to `inside`, and `inside`, `outside` and `overhead` add up to
// everything. docs/metrics.md defines every figure. The running time is linear in the trace, except
// for sorting the result.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

enum class GraphKind : std::uint8_t { Compiled, TorchScript, CudaGraph, Marked };
// "compiled", "torchscript", "cuda_graph", "marked"
std::string_view to_string(GraphKind kind) noexcept;

struct GraphShare {
  std::uint64_t ops = 0;  // calls of operators not made by another operator
  Nanos host_ns = 0;
  std::uint64_t device_pieces = 0;  // kernels, copies and fills
  std::uint64_t triton_kernels = 0;
  Nanos device_ns = 0;
};

// A graph, or several that cannot be distinguished.
struct GraphRegion {
  GraphKind kind = GraphKind::Compiled;
  // For torch.compile, the frame and how often it had been compiled before ("0/1"), with "
  // backward" for the graph of its gradient.
  std::string name;
  std::uint64_t calls = 0;
  GraphShare share;
  SpanId longest;  // the longest of its calls
};

// One compiled frame ran inside another: the outer frame's graph broke and continued after it.
struct GraphBreak {
  std::string from;
  std::string into;
  std::uint64_t count = 0;
  std::vector<SpanId> frames;  // those that ran inside
};

// The run time of torch.compile's own code.
struct GraphOverhead {
  std::uint64_t guard_checks = 0;  // "TorchDynamo Cache Lookup"
  Nanos guard_ns = 0;
  Nanos host_ns = 0;  // all of it, including guards
};

struct OutsideOp {
  std::string name;
  std::string broken;  // the frame whose graph broke around it; empty: it was in no frame
  std::uint64_t count = 0;
  Nanos host_ns = 0;
  Nanos device_ns = 0;
  SpanId longest;
};

struct GraphCoverage {
  GraphShare inside;
  GraphShare outside;
  GraphOverhead overhead;
  std::vector<GraphRegion> regions;    // most host time first
  std::vector<GraphBreak> breaks;      // most frequent first
  std::vector<OutsideOp> outside_ops;  // most host time first
  // What the trace does not show, as sentences without full stops.
  std::vector<std::string> missing;
};

GraphCoverage graph_coverage(const Trace& trace);

}  // namespace sonde
