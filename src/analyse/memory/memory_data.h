// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The steps of memory_profile() in order, and the data that they pass on:
//
//   follow_blocks()      finds the block of each allocation, release and use of a tensor
//   find_leaves()        which calls count as a whole
//   trace_flow()         which calls read, wrote, made and freed which blocks, in which versions
//   categorise()         what the versions of the blocks were for
//   guess_categories()   the same for traces without the inputs of operators
//   add_unseen_tensors() blocks of such traces that existed all the time
//   list_events()        the result

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "sonde/analyse/memory.h"

namespace sonde::detail {

// More than any device can allocate; larger sums would overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
constexpr std::uint32_t kNoBlock = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNoLeaf = std::numeric_limits<std::uint32_t>::max();

// Allocations in the order of their times. Most traces have them in that order already, which takes
// no memory.
class AllocationOrder {
 public:
  AllocationOrder() = default;
  explicit AllocationOrder(const AllocationTable& allocations);
  std::size_t size() const { return size_; }
  AllocationId operator[](std::size_t i) const {
    return rows_.empty() ? AllocationId(i) : rows_[i];
  }

 private:
  std::size_t size_ = 0;
  std::vector<AllocationId> rows_;  // empty if they are in order
};

// The blocks of all devices in one list, in the order in which they were first seen.
struct FollowedBlocks {
  struct Device {
    MemoryDevice device;
    ProcessId process;
    MemoryProblems problems;
    std::vector<AllocationId> out_of_memory;
  };
  std::vector<Device> devices;
  MemoryBlocks blocks;  // their operators are not known yet
  std::vector<std::uint16_t> device_of_block;
  std::vector<std::uint8_t> is_tensor;  // some operator received it
  std::vector<MemoryCategory> told;     // what the program itself says it is for

  AllocationOrder in_order;
  // The innermost span around it.
  std::shared_ptr<const Column<SpanId>> span_of_allocation;
  Column<std::uint32_t> block_of_allocation{kNoBlock};  // kNoBlock if it was invalid
  std::vector<std::uint32_t> ended_by_birth;            // blocks that end when another one begins
  std::vector<TensorUseId> uses_by_span;                // uses of tensors, grouped by span
  std::vector<std::uint32_t> block_of_use;              // by row of tensor_uses
};
FollowedBlocks follow_blocks(const Trace& trace);
// A step of follow_blocks(): the spans as recorded, else found by their times. Valid while the
// trace lives.
std::shared_ptr<const Column<SpanId>> spans_of_allocations(const Trace& trace,
                                                           const AllocationOrder& in_order);

// For which names of a trace a predicate is true. It is asked once for each name, not for each
// span.
class NameSet {
 public:
  template <typename IsWanted>
  NameSet(const Trace& trace, const IsWanted& is_wanted)
      : spans_(&trace.spans()), is_wanted_(trace.strings().size()) {
    for (std::size_t i = 0; i < is_wanted_.size(); ++i) {
      is_wanted_[i] = is_wanted(trace.string(StringId(i)));
      has_any_ = has_any_ || is_wanted_[i];
    }
  }
  bool has_any() const { return has_any_; }
  bool has(SpanId span) const {
    const StringId name = spans_->name[span];
    return has_any_ && name.valid() && is_wanted_[name.index()];
  }

 private:
  const SpanTable* spans_;
  std::vector<bool> is_wanted_;
  bool has_any_ = false;
};

// A call of the program that counts as a whole: an operator that no other operator called, or the
// call of a gradient. PyTorch calls it a leaf.
struct Edge {
  std::uint32_t block;
  std::int32_t version;  // incoming version; -1 if it was made here
  bool written;          // it left a new version
  bool freed;
};
struct Flow {
  std::vector<SpanId> leaves;          // in the order of their starts
  std::vector<std::uint8_t> backward;  // by leaf: within a gradient's call
  Column<std::uint32_t> leaf_of_span{kNoLeaf};
  // Without the tensors of operators there are no edges, and each block has one version.
  std::vector<Edge> edges;
  std::vector<std::uint32_t> edges_first;     // by leaf, and the end
  std::vector<std::uint32_t> versions_first;  // by block in lists of versions, and the end

  bool has_edges() const { return !edges.empty(); }
  std::uint32_t version(std::uint32_t block, std::int32_t number) const {
    if (versions_first.empty()) return block;
    return versions_first[block] + static_cast<std::uint32_t>(number);
  }
  std::uint32_t in(const Edge& edge) const { return version(edge.block, edge.version); }
  bool goes_out(const Edge& edge) const { return edge.version < 0 ? !edge.freed : edge.written; }
  // The version that leaves an edge.
  std::uint32_t out(const Edge& edge) const { return version(edge.block, edge.version + 1); }
};
// The leaves alone; trace_flow() adds the rest.
Flow find_leaves(const Trace& trace);
void trace_flow(const Trace& trace, const FollowedBlocks& followed, Flow& flow);

// Categories by version, numbered as in Flow.
std::vector<MemoryCategory> categorise(const Trace& trace, const FollowedBlocks& followed,
                                       const Flow& flow);
std::vector<MemoryCategory> guess_categories(const Trace& trace, const FollowedBlocks& followed,
                                             const Flow& flow);

// A run of calls made by gradients.
struct BackwardPhase {
  Nanos start_ns;
  Nanos end_ns;
};
std::vector<BackwardPhase> backward_phases(const Trace& trace, const Flow& flow);

// Adds a block, a version of it and its category for each tensor; returns how many.
std::size_t add_unseen_tensors(const Trace& trace, FollowedBlocks& followed, Flow& flow,
                               std::vector<MemoryCategory>& categories);

}  // namespace sonde::detail
