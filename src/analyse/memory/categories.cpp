// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds what blocks were for, with the passes of PyTorch's memory profiler in the same order.
// Where the program says what a tensor is for (tensor_roles), that counts. Otherwise parameters and
// the state of optimisers are found by following the data flow.

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyse/memory/memory_data.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

constexpr auto kUnknown = MemoryCategory::Unknown;

class Categoriser {
 public:
  Categoriser(const Trace& trace, const FollowedBlocks& followed, const Flow& flow)
      : trace_(trace), followed_(followed), flow_(flow) {}

  std::vector<MemoryCategory> run() {
    by_block_ = followed_.told;
    by_block_.resize(followed_.blocks.size(), kUnknown);
    by_version_.assign(flow_.versions_first.back(), kUnknown);
    set_gradients();
    set_temporaries();
    find_what_depends_on_gradients();
    set_inputs();
    set_parameters();
    set_activations();
    set_optimizer_state();
    set_autograd_detail();
    return settle();
  }

 private:
  using Set = std::vector<std::uint8_t>;

  struct Edges {
    const Edge* first;
    const Edge* last;
    const Edge* begin() const { return first; }
    const Edge* end() const { return last; }
  };
  Edges edges(std::size_t leaf) const {
    return {flow_.edges.data() + flow_.edges_first[leaf],
            flow_.edges.data() + flow_.edges_first[leaf + 1]};
  }
  std::size_t leaf_count() const { return flow_.leaves.size(); }
  bool in_backward(std::size_t leaf) const { return flow_.backward[leaf] != 0; }

  MemoryCategory of(std::uint32_t block, std::uint32_t version) const {
    return by_block_[block] != kUnknown ? by_block_[block] : by_version_[version];
  }
  bool is_gradient(const Edge& edge) const {
    return by_block_[edge.block] == MemoryCategory::Gradient;
  }
  // A gradient, or a parameter that the program told of: in inference there are no gradients.
  bool is_of_model(const Edge& edge) const {
    return is_gradient(edge) || followed_.told[edge.block] == MemoryCategory::Parameter;
  }
  void set_block(std::uint32_t block, MemoryCategory category) {
    if (followed_.told[block] == kUnknown) by_block_[block] = category;
  }
  void set_version(std::uint32_t version, MemoryCategory category) {
    if (by_version_[version] == kUnknown) by_version_[version] = category;
  }

  // Marks what the last step of a gradient receives or keeps.
  void set_gradients() {
    const SpanTable& spans = trace_.spans();
    for (std::size_t leaf = 0; leaf < leaf_count(); ++leaf) {
      const SpanId span = flow_.leaves[leaf];
      if (!in_backward(leaf) || trace_.name(span) != kAccumulateGrad) continue;
      accumulate_leaves_.push_back(static_cast<std::uint32_t>(leaf));
      for (const Edge& edge : edges(leaf)) {
        if (edge.version < 0 && !edge.freed) set_block(edge.block, MemoryCategory::Gradient);
      }
      const SpanId child(span.index() + 1);
      if (child.index() >= spans.size() || spans.parent[child] != span) continue;
      const std::string_view name = trace_.name(child);
      if (name != "aten::detach" && name != "aten::add_") continue;
      const std::uint32_t block = first_argument(child);
      if (block != kNoBlock) set_block(block, MemoryCategory::Gradient);
    }
  }

  std::uint32_t first_argument(SpanId span) const {
    const TensorUseTable& uses = trace_.tensor_uses();
    const auto found = std::lower_bound(
        followed_.uses_by_span.begin(), followed_.uses_by_span.end(), span,
        [&uses](TensorUseId use, SpanId wanted) { return uses.span[use] < wanted; });
    if (found == followed_.uses_by_span.end() || uses.span[*found] != span) return kNoBlock;
    return uses.index[*found] == 0 ? followed_.block_of_use[found->index()] : kNoBlock;
  }

  void set_temporaries() {
    for (const Edge& edge : flow_.edges) {
      MemoryCategory& category = by_block_[edge.block];
      if (edge.version < 0 && edge.freed && category == kUnknown)
        category = MemoryCategory::Temporary;
    }
  }

  // Finds blocks of which some version was used or made by a call that has a gradient or a
  // parameter.
  void find_what_depends_on_gradients() {
    depends_.assign(followed_.blocks.size(), 0);
    std::vector<std::uint32_t> readers_first;
    const std::vector<std::uint32_t> readers = readers_of_blocks(readers_first);
    Set done(leaf_count(), 0);
    std::vector<std::uint32_t> waiting;
    const auto add = [&](std::uint32_t block) {
      if (depends_[block] != 0) return;
      depends_[block] = 1;
      waiting.push_back(block);
    };
    for (const Edge& edge : flow_.edges) {
      if (edge.version >= 0 && is_of_model(edge)) add(edge.block);
    }
    while (!waiting.empty()) {
      const std::uint32_t block = waiting.back();
      waiting.pop_back();
      for (std::uint32_t i = readers_first[block]; i < readers_first[block + 1]; ++i) {
        const std::uint32_t leaf = readers[i];
        if (std::exchange(done[leaf], 1) != 0) continue;
        for (const Edge& edge : edges(leaf)) {
          if (flow_.goes_out(edge)) add(edge.block);
        }
      }
    }
  }

  // The leaves that read each block.
  std::vector<std::uint32_t> readers_of_blocks(std::vector<std::uint32_t>& first) const {
    first.assign(followed_.blocks.size() + 1, 0);
    for (const Edge& edge : flow_.edges) first[edge.block + 1] += edge.version >= 0 ? 1 : 0;
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<std::uint32_t> readers(first.back());
    std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
    for (std::uint32_t leaf = 0; leaf < leaf_count(); ++leaf) {
      for (const Edge& edge : edges(leaf)) {
        if (edge.version >= 0) readers[at[edge.block]++] = leaf;
      }
    }
    return readers;
  }

  // Marks what is combined with gradients or parameters, sooner or later, and depends on none.
  void set_inputs() {
    Set leads(by_version_.size(), 0);
    for (std::size_t leaf = leaf_count(); leaf-- > 0;) {
      const Edges all = edges(leaf);
      const bool touches = std::any_of(all.begin(), all.end(), [&](const Edge& edge) {
        return is_of_model(edge) || (edge.version >= 0 && leads[flow_.in(edge)] != 0) ||
               (flow_.goes_out(edge) && leads[flow_.out(edge)] != 0);
      });
      if (!touches) continue;
      for (const Edge& edge : all) {
        if (edge.version >= 0) leads[flow_.in(edge)] = 1;
        if (flow_.goes_out(edge)) leads[flow_.out(edge)] = 1;
      }
    }
    for (std::size_t leaf = 0; leaf < leaf_count(); ++leaf) {
      if (!in_backward(leaf)) continue;
      for (const Edge& edge : edges(leaf)) {
        if (flow_.goes_out(edge)) leads[flow_.out(edge)] = 0;
      }
    }
    for_each_version([&](std::uint32_t block, std::uint32_t version) {
      if (leads[version] != 0 && depends_[block] == 0) set_version(version, MemoryCategory::Input);
    });
  }

  template <typename Take>
  void for_each_version(Take take) const {
    for (std::uint32_t block = 0; block < followed_.blocks.size(); ++block) {
      for (std::uint32_t at = flow_.versions_first[block]; at < flow_.versions_first[block + 1];
           ++at)
        take(block, at);
    }
  }

  // Marks what is combined with the inputs in the forward pass, used for gradients and changed by
  // them.
  void set_parameters() {
    Set forward(by_version_.size(), 0);
    Set candidate(by_version_.size(), 0);
    for_each_version([&](std::uint32_t block, std::uint32_t version) {
      forward[version] = of(block, version) == MemoryCategory::Input ? 1 : 0;
    });
    for (std::size_t leaf = 0; leaf < leaf_count(); ++leaf) {
      const Edges all = edges(leaf);
      const auto comes_forward = [&](const Edge& edge) {
        return edge.version >= 0 && forward[flow_.in(edge)] != 0;
      };
      if (in_backward(leaf) || std::none_of(all.begin(), all.end(), comes_forward) ||
          std::any_of(all.begin(), all.end(), [&](const Edge& edge) { return is_gradient(edge); }))
        continue;
      for (const Edge& edge : all) {
        if (flow_.goes_out(edge)) forward[flow_.out(edge)] = 1;
      }
      for (const Edge& edge : all) {
        if (edge.version >= 0 && forward[flow_.in(edge)] == 0) candidate[flow_.in(edge)] = 1;
      }
    }
    const Set used = used_for_gradients();
    for_each_version([&](std::uint32_t block, std::uint32_t version) {
      if (candidate[version] != 0 && used[version] != 0 && depends_[block] != 0)
        set_block(block, MemoryCategory::Parameter);
    });
  }

  Set used_for_gradients() const {
    Set used(by_version_.size(), 0);
    for (std::size_t leaf = leaf_count(); leaf-- > 0;) {
      const Edges all = edges(leaf);
      const bool makes = std::any_of(all.begin(), all.end(), [&](const Edge& edge) {
        return flow_.goes_out(edge) && (is_gradient(edge) || used[flow_.out(edge)] != 0);
      });
      if (!makes) continue;
      for (const Edge& edge : all) {
        if (edge.version >= 0) used[flow_.in(edge)] = 1;
      }
    }
    return used;
  }

  void set_activations() {
    for (std::size_t leaf = 0; leaf < leaf_count(); ++leaf) {
      if (in_backward(leaf)) continue;
      bool has_required = false;
      bool has_other = false;
      for (const Edge& edge : edges(leaf)) {
        if (edge.version < 0) continue;
        const MemoryCategory category = of(edge.block, flow_.in(edge));
        const bool required =
            category == MemoryCategory::Input || category == MemoryCategory::Activation;
        has_required = has_required || required;
        has_other = has_other || (!required && category != MemoryCategory::Parameter &&
                                  category != MemoryCategory::Temporary);
      }
      if (!has_required || has_other) continue;
      for (const Edge& edge : edges(leaf)) {
        if (flow_.goes_out(edge)) set_version(flow_.out(edge), MemoryCategory::Activation);
      }
    }
  }

  // Marks what is written outside the backward pass by a call that receives gradients or values
  // made from them. It lives until the next gradients arrive and is not passed to any call that
  // autograd tracks: those get parameters.
  void set_optimizer_state() {
    const Set has_gradient = followed_by_autograd();
    Set made_of_gradients(followed_.blocks.size(), 0);
    for (std::uint32_t leaf = 0; leaf < leaf_count(); ++leaf) {
      const Edges all = edges(leaf);
      const auto is_given = [&](const Edge& edge) {
        return edge.version >= 0 && (is_gradient(edge) || made_of_gradients[edge.block] != 0);
      };
      if (in_backward(leaf) || std::none_of(all.begin(), all.end(), is_given)) continue;
      for (const Edge& edge : all) {
        if (edge.version < 0) {
          made_of_gradients[edge.block] = 1;
        } else if (edge.written && !is_gradient(edge) && has_gradient[edge.block] == 0 &&
                   outlives(edge.block, leaf)) {
          set_block(edge.block, MemoryCategory::OptimizerState);
        }
      }
    }
  }

  // Optimisers run with autograd off, and their calls have no sequence number.
  Set followed_by_autograd() const {
    Set result(followed_.blocks.size(), 0);
    for (std::size_t leaf = 0; leaf < leaf_count(); ++leaf) {
      if (!in_backward(leaf) && trace_.spans().sequence_number[flow_.leaves[leaf]] < 0) continue;
      for (const Edge& edge : edges(leaf))
        if (edge.version >= 0) result[edge.block] = 1;
    }
    return result;
  }

  bool outlives(std::uint32_t block, std::uint32_t leaf) const {
    const AllocationId death = followed_.blocks.death(block);
    if (!death.valid()) return true;
    const auto next = std::upper_bound(accumulate_leaves_.begin(), accumulate_leaves_.end(), leaf);
    return next != accumulate_leaves_.end() &&
           trace_.spans().start_ns[flow_.leaves[*next]] < trace_.allocations().time_ns[death];
  }

  void set_autograd_detail() {
    for (std::size_t leaf = 0; leaf < leaf_count(); ++leaf) {
      if (!in_backward(leaf)) continue;
      for (const Edge& edge : edges(leaf)) {
        if (!flow_.goes_out(edge)) continue;
        const MemoryCategory before = edge.version < 0 ? kUnknown : of(edge.block, flow_.in(edge));
        if (before == kUnknown || before == MemoryCategory::AutogradDetail)
          set_version(flow_.out(edge), MemoryCategory::AutogradDetail);
      }
    }
  }

  std::vector<MemoryCategory> settle() {
    for_each_version([this](std::uint32_t block, std::uint32_t version) {
      by_version_[version] = of(block, version);
    });
    return std::move(by_version_);
  }

  const Trace& trace_;
  const FollowedBlocks& followed_;
  const Flow& flow_;
  std::vector<MemoryCategory> by_block_;  // wins over by_version_
  std::vector<MemoryCategory> by_version_;
  Set depends_;  // blocks
  std::vector<std::uint32_t> accumulate_leaves_;
};

}  // namespace

std::vector<MemoryCategory> categorise(const Trace& trace, const FollowedBlocks& followed,
                                       const Flow& flow) {
  return Categoriser(trace, followed, flow).run();
}

}  // namespace sonde::detail
