// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Guesses what blocks were for from when they lived, for traces without the inputs of operators.
//
//   forward  ....aaaaaaa.................   alive when gradients begin: an activation
//   backward .........======.............
//            ..........dd..ggggggggggg...   born there: detail, or a gradient if it outlives them
//
// A block that lives within one call is temporary. All others stay unknown.

#include <algorithm>
#include <limits>
#include <string_view>

#include "analyse/memory/memory_data.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

NameSet evaluations_of(const Trace& trace) {
  return {trace, [](std::string_view name) { return name.starts_with(kEvaluateFunction); }};
}

bool belongs_to_backward(const Trace& trace, const Flow& flow, const NameSet& evaluations,
                         std::uint32_t leaf) {
  if (flow.backward[leaf] != 0) return true;
  if (!evaluations.has_any()) return false;
  const SpanId parent = trace.spans().parent[flow.leaves[leaf]];
  return parent.valid() && evaluations.has(parent);
}

class Guess {
 public:
  Guess(const Trace& trace, const FollowedBlocks& followed, const Flow& flow)
      : trace_(trace), followed_(followed), flow_(flow), evaluations_(evaluations_of(trace)) {}

  std::vector<MemoryCategory> run() {
    phases_ = backward_phases(trace_, flow_);
    std::vector<MemoryCategory> result;
    result.reserve(followed_.blocks.size());
    for (std::uint32_t block = 0; block < followed_.blocks.size(); ++block)
      result.push_back(of(followed_.blocks.birth(block), followed_.blocks.death(block)));
    return result;
  }

 private:
  std::uint32_t leaf_of(AllocationId row) const {
    const SpanId span = row.valid() ? (*followed_.span_of_allocation)[row.index()] : SpanId();
    return span.valid() ? flow_.leaf_of_span[span.index()] : kNoLeaf;
  }

  MemoryCategory of(AllocationId birth, AllocationId death) const {
    const std::uint32_t born_in = leaf_of(birth);
    if (born_in == kNoLeaf) return MemoryCategory::Unknown;
    if (born_in == leaf_of(death)) return MemoryCategory::Temporary;
    const AllocationTable& allocations = trace_.allocations();
    const Nanos born_ns = allocations.time_ns[birth];
    const Nanos died_ns = death.valid() ? allocations.time_ns[death] : kNever;
    const auto next = std::upper_bound(
        phases_.begin(), phases_.end(), born_ns,
        [](Nanos time_ns, const BackwardPhase& phase) { return time_ns < phase.start_ns; });
    if (belongs_to_backward(trace_, flow_, evaluations_, born_in)) {
      const bool outlives = next == phases_.begin() || died_ns > (next - 1)->end_ns;
      return outlives ? MemoryCategory::Gradient : MemoryCategory::AutogradDetail;
    }
    const bool reaches = next != phases_.end() && next->start_ns < died_ns;
    const Nanos after_ns = reaches && next + 1 != phases_.end() ? (next + 1)->start_ns : kNever;
    return reaches && died_ns < after_ns ? MemoryCategory::Activation : MemoryCategory::Unknown;
  }

  const Trace& trace_;
  const FollowedBlocks& followed_;
  const Flow& flow_;
  NameSet evaluations_;
  std::vector<BackwardPhase> phases_;
};

}  // namespace

std::vector<BackwardPhase> backward_phases(const Trace& trace, const Flow& flow) {
  const NameSet evaluations = evaluations_of(trace);
  std::vector<BackwardPhase> phases;
  bool inside = false;
  for (std::uint32_t leaf = 0; leaf < flow.leaves.size(); ++leaf) {
    const SpanId span = flow.leaves[leaf];
    const bool backward = belongs_to_backward(trace, flow, evaluations, leaf);
    if (backward && !inside) phases.push_back({trace.spans().start_ns[span], 0});
    if (backward) phases.back().end_ns = std::max(phases.back().end_ns, trace.end_ns(span));
    inside = backward;
  }
  return phases;
}

std::vector<MemoryCategory> guess_categories(const Trace& trace, const FollowedBlocks& followed,
                                             const Flow& flow) {
  return Guess(trace, followed, flow).run();
}

}  // namespace sonde::detail
