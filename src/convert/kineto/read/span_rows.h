// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes the rows of spans: joins beginnings and ends, orders the rows and fills the columns.
// Everything runs in parallel, because spans are nearly all of a trace.

#include <cstdint>
#include <vector>

#include "convert/kineto/read/joined.h"

namespace sonde {

// Maps staged spans of all stretches to their rows in the trace.
class SpanRows {
 public:
  SpanRows() = default;
  SpanRows(std::vector<std::uint32_t> rows, std::vector<std::uint32_t> first)
      : rows_(std::move(rows)), first_(std::move(first)) {}
  // Invalid for spans that are not drawn.
  SpanId operator()(std::size_t stretch, std::uint32_t local) const {
    return SpanId(rows_[first_[stretch] + local]);
  }

 private:
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> first_;  // of each stretch
};

// Fills builder.spans(), in row order. Argument lists, stacks and names must be filled before.
SpanRows fill_spans(TraceBuilder& builder, Joined& joined);

}  // namespace sonde
