// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which calls read, wrote, made and freed which blocks.

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "analyse/memory/memory_data.h"
#include "analyse/memory/op_effects.h"
#include "base/big_vector.h"
#include "base/run_sort.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

enum class Effect : std::uint8_t { Reads, Writes, NotKnown, Makes, Frees };

struct Item {
  std::uint32_t block;
  Effect effect;
};

class LeafFinder {
 public:
  explicit LeafFinder(const Trace& trace)
      : trace_(trace), effects_(trace), evaluations_(trace, [](std::string_view name) {
          return name.starts_with(kEvaluateFunction);
        }) {}

  Flow run() {
    find_leaves();
    return std::move(flow_);
  }

 private:
  // Parents come before their children.
  void find_leaves() {
    const SpanTable& spans = trace_.spans();
    flow_.leaf_of_span.pack();
    reserve_big(flow_.leaves, spans.size());
    for (const SpanId span : trace_.all_spans()) {
      const SpanId parent = spans.parent[span];
      std::uint32_t leaf = parent.valid() ? flow_.leaf_of_span[parent.index()] : kNoLeaf;
      if (leaf == kNoLeaf && is_leaf(span)) {
        leaf = static_cast<std::uint32_t>(flow_.leaves.size());
        flow_.leaves.push_back(span);
      }
      flow_.leaf_of_span.push_back(leaf);
    }
    order_leaves();
    flow_.backward.reserve(flow_.leaves.size());
    for (const SpanId leaf : flow_.leaves) flow_.backward.push_back(is_backward(leaf) ? 1 : 0);
  }

  // By their starts. Those of one thread are in order already.
  void order_leaves() {
    const SpanTable& spans = trace_.spans();
    const auto is_earlier = [&spans](SpanId a, SpanId b) {
      return spans.start_ns[a] < spans.start_ns[b];
    };
    if (std::is_sorted(flow_.leaves.begin(), flow_.leaves.end(), is_earlier)) return;
    std::vector<std::uint32_t> order(flow_.leaves.size());
    std::iota(order.begin(), order.end(), 0U);
    const std::vector<SpanId> before = flow_.leaves;
    run_sort(order,
             [&](std::uint32_t a, std::uint32_t b) { return is_earlier(before[a], before[b]); });
    std::vector<std::uint32_t> number(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      flow_.leaves[i] = before[order[i]];
      number[order[i]] = i;
    }
    flow_.leaf_of_span.change_stretches([&](std::size_t, std::uint32_t* leaves, std::size_t rows) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (leaves[i] != kNoLeaf) leaves[i] = number[leaves[i]];
      }
      return true;
    });
  }

  bool is_leaf(SpanId span) {
    return trace_.spans().kind[span] == SpanKind::CpuOp &&
           (effects_.of(span).known || is_backward(span));
  }

  // Whether it is a gradient's call. If the trace does not mark it, the engine's call around it
  // does.
  bool is_backward(SpanId span) const {
    if (trace_.spans().scope[span] == RecordScope::BackwardFunction) return true;
    const SpanId parent = trace_.spans().parent[span];
    if (!parent.valid() || !evaluations_.has(parent)) return false;
    return trace_.name(parent).substr(kEvaluateFunction.size()) == trace_.name(span);
  }

  const Trace& trace_;
  OpEffects effects_;
  NameSet evaluations_;
  Flow flow_;
};

class FlowTracer {
 public:
  FlowTracer(const Trace& trace, const FollowedBlocks& followed, Flow& flow)
      : trace_(trace), followed_(followed), effects_(trace), flow_(flow) {}

  void run() {
    gather_items();
    number_versions();
  }

 private:
  // Calls `take(leaf, item)` for every item of a leaf that is about a tensor.
  template <typename Take>
  void for_each_item(Take take) {
    SpanId last;
    OpEffects::Effect effect;
    for (const TensorUseId use : followed_.uses_by_span) {
      const SpanId span = trace_.tensor_uses().span[use];
      const std::uint32_t leaf = flow_.leaf_of_span[span.index()];
      const std::uint32_t block = followed_.block_of_use[use.index()];
      if (leaf == kNoLeaf || block == kNoBlock) continue;
      if (span != last) effect = effects_.of(span);
      last = span;
      const bool writes = effect.writes(trace_.tensor_uses().index[use]);
      take(leaf, Item{block, !effect.known ? Effect::NotKnown
                             : writes      ? Effect::Writes
                                           : Effect::Reads});
    }
    for (std::size_t i = 0; i < followed_.in_order.size(); ++i) {
      const AllocationId row = followed_.in_order[i];
      const SpanId span = (*followed_.span_of_allocation)[row.index()];
      const std::uint32_t leaf = span.valid() ? flow_.leaf_of_span[span.index()] : kNoLeaf;
      const std::uint32_t block = followed_.block_of_allocation[row.index()];
      if (leaf == kNoLeaf || block == kNoBlock || followed_.is_tensor[block] == 0) continue;
      take(leaf, Item{block, followed_.blocks.birth(block) == row ? Effect::Makes : Effect::Frees});
    }
  }

  void gather_items() {
    if (followed_.uses_by_span.empty()) return;
    items_first_.assign(flow_.leaves.size() + 1, 0);
    for_each_item([this](std::uint32_t leaf, Item) { ++items_first_[leaf + 1]; });
    for (std::size_t i = 1; i < items_first_.size(); ++i) items_first_[i] += items_first_[i - 1];
    items_.resize(items_first_.back());
    std::vector<std::uint32_t> at(items_first_.begin(), items_first_.end() - 1);
    for_each_item([&](std::uint32_t leaf, Item item) { items_[at[leaf]++] = item; });
  }

  void number_versions() {
    if (followed_.uses_by_span.empty()) return;
    const std::size_t blocks = followed_.blocks.size();
    std::vector<std::int32_t> version(blocks, 0);
    std::vector<std::uint32_t> edge_of(blocks, 0);
    std::vector<std::uint32_t> edge_made_for(blocks, kNoLeaf);
    std::vector<std::uint8_t> only_unknown;  // of each edge
    flow_.edges_first.assign(1, 0);
    for (std::uint32_t leaf = 0; leaf < flow_.leaves.size(); ++leaf) {
      const std::size_t first = flow_.edges.size();
      only_unknown.clear();
      for (std::uint32_t i = items_first_[leaf]; i < items_first_[leaf + 1]; ++i) {
        const Item item = items_[i];
        if (edge_made_for[item.block] != leaf) {
          edge_made_for[item.block] = leaf;
          edge_of[item.block] = static_cast<std::uint32_t>(flow_.edges.size());
          flow_.edges.push_back({item.block, version[item.block], false, false});
          only_unknown.push_back(1);
        }
        Edge& edge = flow_.edges[edge_of[item.block]];
        apply(item.effect, edge, only_unknown[edge_of[item.block] - first]);
      }
      for (std::size_t i = first; i < flow_.edges.size(); ++i) {
        Edge& edge = flow_.edges[i];
        if (edge.version < 0) continue;
        edge.written = edge.written || (only_unknown[i - first] != 0 && !edge.freed);
        version[edge.block] += edge.written ? 1 : 0;
      }
      flow_.edges_first.push_back(static_cast<std::uint32_t>(flow_.edges.size()));
    }
    flow_.versions_first.assign(1, 0);
    for (const std::int32_t last : version)
      flow_.versions_first.push_back(flow_.versions_first.back() +
                                     static_cast<std::uint32_t>(last) + 1);
  }

  // An unknown operator may write.
  static void apply(Effect effect, Edge& edge, std::uint8_t& only_unknown) {
    if (effect != Effect::NotKnown) only_unknown = 0;
    if (effect == Effect::Writes) edge.written = true;
    if (effect == Effect::Makes) edge.version = -1;
    if (effect == Effect::Frees) edge.freed = true;
  }

  const Trace& trace_;
  const FollowedBlocks& followed_;
  OpEffects effects_;
  Flow& flow_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> items_first_;  // of each leaf, and the end
};

}  // namespace

Flow find_leaves(const Trace& trace) {
  return LeafFinder(trace).run();
}

void trace_flow(const Trace& trace, const FollowedBlocks& followed, Flow& flow) {
  FlowTracer(trace, followed, flow).run();
}

}  // namespace sonde::detail
