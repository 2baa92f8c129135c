// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/span_join.h"

#include <algorithm>
#include <array>

namespace sonde {

namespace {

constexpr unsigned kRadixBits = 11;
constexpr std::size_t kBuckets = std::size_t{1} << kRadixBits;

// One pass of a radix sort: stable, by the digit at `shift`.
void sort_by_digit(const SpanId* spans, unsigned shift, const std::vector<std::uint32_t>& from,
                   std::vector<std::uint32_t>& to) {
  std::array<std::uint32_t, kBuckets + 1> begin{};
  const auto digit = [&](std::uint32_t row) {
    return (spans[row].value() >> shift) & (kBuckets - 1);
  };
  for (const std::uint32_t row : from) ++begin[digit(row) + 1];
  for (std::size_t i = 1; i <= kBuckets; ++i) begin[i] += begin[i - 1];
  for (const std::uint32_t row : from) to[begin[digit(row)]++] = row;
}

}  // namespace

SpanJoin::SpanJoin(const SpanId* spans, std::size_t rows) : spans_(spans), rows_(rows) {
  if (spans == nullptr) {
    rows_ = 0;
    return;
  }
  // Invalid ids are the greatest, so they come last in a sorted table.
  while (rows_ > 0 && !spans[rows_ - 1].valid()) --rows_;
  if (std::is_sorted(spans, spans + rows_)) return;
  std::uint32_t greatest = 0;
  order_.reserve(rows_);
  for (std::uint32_t row = 0; row < rows_; ++row) {
    if (!spans[row].valid()) continue;
    order_.push_back(row);
    greatest = std::max(greatest, spans[row].value());
  }
  rows_ = order_.size();
  std::vector<std::uint32_t> other(rows_);
  for (unsigned shift = 0; shift < 32 && greatest >> shift != 0; shift += kRadixBits) {
    sort_by_digit(spans, shift, order_, other);
    order_.swap(other);
  }
}

SpanJoin::Cursor::Cursor(const SpanJoin& join, SpanId first) : join_(&join), at_(0), next_(0) {
  std::size_t count = join.rows_;
  while (count > 0) {
    const std::size_t half = count / 2;
    if (join.span_at(at_ + half) < first.value()) {
      at_ += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  next_ = join.span_at(at_);
}

}  // namespace sonde
