// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The most time that fixing a pattern could save; docs/metrics.md says how it is counted.

#include <vector>

#include "analyse/patterns/rules.h"
#include "analyse/time/coverage.h"
#include "analyse/time/launches.h"

namespace sonde::detail {

class PatternSavings {
 public:
  PatternSavings(const Trace& trace, const PatternTree& tree, const PatternRules& rules,
                 const Launches& launches)
      : trace_(trace), tree_(tree), rules_(rules), launches_(launches) {}

  Nanos of(Pattern pattern, const std::vector<SpanId>& matched) const;
  // All rounds of a loop but one.
  Nanos of(const std::vector<IndexingLoop>& loops) const;

 private:
  void add_span(Stretches& to, SpanId span) const {
    to.add(trace_.spans().start_ns[span], trace_.end_ns(span));
  }
  void add_work(Stretches& to, SpanId first, SpanId last) const;
  void add_call(Stretches& to, SpanId span) const;
  void add_kernels(Stretches& to, SpanId span) const;
  void add_bias(Stretches& to, SpanId conv2d) const;
  void add_batches(Stretches& to, const std::vector<SpanId>& loaders) const;

  const Trace& trace_;
  const PatternTree& tree_;
  const PatternRules& rules_;
  const Launches& launches_;
};

}  // namespace sonde::detail
