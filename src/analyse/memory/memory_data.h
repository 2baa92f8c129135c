// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the steps of memory_profile() hand to each other, in their order:
//
//   follow_blocks()      each allocation, release and use of a tensor gets the block it is about
//   trace_flow()         which calls read, wrote, made and freed which blocks, in which versions
//   categorise()         what the versions of the blocks were for
//   guess_categories()   the same for traces that do not say what operators were given
//   add_unseen_tensors() blocks of such traces that were there all the time
//   list_events()        the result

#include <cstdint>
#include <limits>
#include <vector>

#include "sonde/analyse/memory.h"

namespace sonde::detail {

// More than a device can ever hand out; larger sums would overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
constexpr std::uint32_t kNoBlock = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNoLeaf = std::numeric_limits<std::uint32_t>::max();

// The blocks of all devices in one list, in the order in which they were first seen.
struct FollowedBlocks {
  struct Device {
    MemoryDevice device;
    ProcessId process;
    MemoryProblems problems;
    std::vector<AllocationId> out_of_memory;
  };
  std::vector<Device> devices;
  std::vector<MemoryBlock> blocks;
  std::vector<std::uint16_t> device_of_block;
  std::vector<std::uint8_t> is_tensor;  // some operator received it

  std::vector<AllocationId> in_order;              // allocations in the order of time
  std::vector<SpanId> span_of_allocation;          // the innermost around it
  std::vector<std::uint32_t> block_of_allocation;  // kNoBlock: it was invalid
  std::vector<std::uint32_t> ended_by_birth;       // blocks that end with another's birth
  std::vector<TensorUseId> uses_by_span;           // uses of tensors, those of a span together
  std::vector<std::uint32_t> block_of_use;         // by row of tensor_uses
};
FollowedBlocks follow_blocks(const Trace& trace);
// A step of it: recorded, or found by their times.
std::vector<SpanId> spans_of_allocations(const Trace& trace,
                                         const std::vector<AllocationId>& in_order);

// A call of the program that counts as a whole: an operator that no other operator called, or a
// gradient's. PyTorch calls it a leaf.
struct Edge {
  std::uint32_t block;
  std::int32_t version;  // version that came in; -1: it was made here
  bool written;          // a new version came out
  bool freed;
};
struct Flow {
  std::vector<SpanId> leaves;          // in the order of their starts
  std::vector<std::uint8_t> backward;  // of each leaf: within a gradient's call
  std::vector<std::uint32_t> leaf_of_span;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> edges_first;     // of each leaf, and the end
  std::vector<std::uint32_t> versions_first;  // of each block in lists of versions, and the end

  std::uint32_t version(std::uint32_t block, std::int32_t number) const {
    return versions_first[block] + static_cast<std::uint32_t>(number);
  }
  std::uint32_t in(const Edge& edge) const { return version(edge.block, edge.version); }
  bool goes_out(const Edge& edge) const { return edge.version < 0 ? !edge.freed : edge.written; }
  // Of an edge that goes out.
  std::uint32_t out(const Edge& edge) const { return version(edge.block, edge.version + 1); }
};
Flow trace_flow(const Trace& trace, const FollowedBlocks& followed);

// By version, as Flow numbers them.
std::vector<MemoryCategory> categorise(const Trace& trace, const FollowedBlocks& followed,
                                       const Flow& flow);
std::vector<MemoryCategory> guess_categories(const Trace& trace, const FollowedBlocks& followed,
                                             const Flow& flow);

// Runs of calls made by gradients, in order.
struct BackwardPhase {
  Nanos start_ns;
  Nanos end_ns;
};
std::vector<BackwardPhase> backward_phases(const Trace& trace, const Flow& flow);

// Adds a block, a version of it and its category for each; returns how many.
std::size_t add_unseen_tensors(const Trace& trace, FollowedBlocks& followed, Flow& flow,
                               std::vector<MemoryCategory>& categories);

}  // namespace sonde::detail
