// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds the rows of another table that belong to a span, for walking over spans in row order.
//
//   const SpanJoin kernels(trace.kernels().span);
//   SpanJoin::Cursor at(kernels, SpanId(1000));       // for any part of the spans
//   for (…) while (at.has(span)) use(KernelId(at.take()));
//
// Takes linear time, and no memory if the table is already in the order of its spans.

#include <cstdint>
#include <vector>

#include "sonde/trace/tables_gen.h"

namespace sonde {

class SpanJoin {
 public:
  SpanJoin() = default;
  // Rows with an invalid span are skipped.
  explicit SpanJoin(const Column<SpanId>& spans) : SpanJoin(spans.data(), spans.size()) {}
  SpanJoin(const SpanId* spans, std::size_t rows);

  class Cursor {
   public:
    Cursor(const SpanJoin& join, SpanId first);
    bool has(SpanId span) const { return next_ == span.value(); }
    // The next row of that span, in the table's order.
    std::uint32_t take() {
      const std::uint32_t row = join_->row_at(at_++);
      next_ = join_->span_at(at_);
      return row;
    }
    // The first row of that span; the others are skipped. Call it only if has(span).
    std::uint32_t take_one(SpanId span) {
      const std::uint32_t row = take();
      while (has(span)) take();
      return row;
    }

   private:
    const SpanJoin* join_;
    std::size_t at_;
    std::uint32_t next_;
  };

 private:
  std::uint32_t row_at(std::size_t at) const {
    return order_.empty() ? static_cast<std::uint32_t>(at) : order_[at];
  }
  // Invalid past the last row.
  std::uint32_t span_at(std::size_t at) const {
    return at < rows_ ? spans_[row_at(at)].value() : SpanId::kInvalid - 1;
  }

  const SpanId* spans_ = nullptr;
  std::size_t rows_ = 0;  // that have a span
  std::vector<std::uint32_t> order_;
};

}  // namespace sonde
