// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// One rule per pattern: whether a span matches, decided as in PyTorch.

#include <cstdint>
#include <span>
#include <vector>

#include "analyse/patterns/tree.h"
#include "analyse/time/launches.h"
#include "sonde/analyse/patterns.h"

namespace sonde::detail {

// A run of equal rounds of operators that begin with aten::select.
struct IndexingLoop {
  SpanId first;  // the first aten::select
  SpanId last;   // the last operator of the last round
  std::uint32_t rounds = 0;
};

class PatternRules {
 public:
  PatternRules(const Trace& trace, const PatternTree& tree, const Launches& launches);

  bool is_extra_copy(SpanId span) const;
  bool is_full_precision_product(SpanId span) const;
  bool is_single_tensor_optimizer(SpanId span) const;
  bool loads_synchronously(SpanId span) const;
  bool sets_gradients_to_zero(SpanId span) const;
  bool has_bias_before_norm(SpanId span) const;
  bool has_sizes_off_the_grid(SpanId span) const;

  // All loops of at least ten rounds.
  std::vector<IndexingLoop> indexing_loops() const;
  // The calls of aten::zero_ below a span that are not part of aten::zeros.
  std::span<const SpanId> zeroed_below(SpanId span) const;

 private:
  IndexingLoop loop_from(SpanId select, std::vector<bool>& visited) const;
  SpanId body_end(SpanId select) const;
  SpanId matching_round(SpanId first, SpanId end, SpanId other) const;

  const Trace& trace_;
  const PatternTree& tree_;
  const Launches& launches_;
  std::vector<SpanId> zeroed_;  // by row
};

}  // namespace sonde::detail
