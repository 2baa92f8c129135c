// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The rows of a table that belong to a span, for tables that name their span in a column.
//
//   const RowsOfSpan kernels(trace.kernels().span);
//   for (const std::uint32_t row : kernels.of(span)) … trace.kernels().grid_x[row]

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

class RowsOfSpan {
 public:
  RowsOfSpan() = default;
  explicit RowsOfSpan(const Column<SpanId>& spans)
      : RowsOfSpan(spans.size(), [&](std::uint32_t row) { return spans[row]; }) {}
  // `span_of` may be invalid for a row that belongs to none.
  template <typename SpanOf>
  RowsOfSpan(std::size_t rows, SpanOf span_of) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      const SpanId span = span_of(row);
      if (span.valid()) rows_.emplace_back(span.value(), row);
    }
    if (!std::is_sorted(rows_.begin(), rows_.end())) std::sort(rows_.begin(), rows_.end());
  }

  std::vector<std::uint32_t> of(SpanId span) const {
    std::vector<std::uint32_t> out;
    auto at = std::lower_bound(rows_.begin(), rows_.end(), std::pair(span.value(), 0U));
    for (; at != rows_.end() && at->first == span.value(); ++at) out.push_back(at->second);
    return out;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows_;
};

}  // namespace sonde::detail
