// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Spans: beginnings and ends brought together, rows brought into the order of the trace, columns
// filled. All at once and in parallel, since spans are nearly all of a trace.

#include <cstdint>
#include <vector>

#include "convert/kineto/read/joined.h"

namespace sonde {

// Where the spans of all stretches stand in the trace.
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

// Fills builder.spans(), in row order. Arguments, stacks and names must be there.
SpanRows fill_spans(TraceBuilder& builder, Joined& joined);

}  // namespace sonde
