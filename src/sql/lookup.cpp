// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/lookup.h"

#include <algorithm>
#include <limits>

namespace sonde::sql {
namespace {

std::vector<std::int64_t> all_values(const Field& field, std::size_t rows) {
  std::vector<std::int64_t> values(rows);
  if (field.reader->copy != nullptr) {
    field.reader->copy(field.source, 0, rows, values.data());
  } else {
    for (std::size_t i = 0; i < rows; ++i) values[i] = field.raw(i);
  }
  return values;
}

}  // namespace

// Correlation numbers and rows of other tables lie close together: one entry for each possible
// value takes less than to store the values.
void Lookup::build_dense(const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) ++begin_[static_cast<std::size_t>(value - least_) + 1];
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  rows_.resize(values.size());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t row = 0; row < values.size(); ++row)
    rows_[next[static_cast<std::size_t>(values[row] - least_)]++] = static_cast<std::uint32_t>(row);
}

void Lookup::build_sorted(const std::vector<std::int64_t>& values) {
  rows_.resize(values.size());
  for (std::size_t row = 0; row < values.size(); ++row)
    rows_[row] = static_cast<std::uint32_t>(row);
  std::stable_sort(rows_.begin(), rows_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
  keys_.resize(values.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) keys_[i] = values[rows_[i]];
}

void Lookup::build(const Field& field, std::size_t rows) {
  is_built_ = true;
  std::vector<std::int64_t> values = all_values(field, rows);
  // NULL is far from all other ids; a query for it reads every row.
  std::int64_t most = 0;
  bool any = false;
  for (const std::int64_t value : values) {
    if (field.is_null(value)) continue;
    least_ = any ? std::min(least_, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
  }
  range_ = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least_);
  is_dense_ = any && range_ < 4 * rows && most != std::numeric_limits<std::int64_t>::max();
  if (!is_dense_) return build_sorted(values);
  for (std::int64_t& value : values)
    if (field.is_null(value)) value = most + 1;
  begin_.assign(static_cast<std::size_t>(range_) + 3, 0);
  build_dense(values);
}

std::span<const std::uint32_t> Lookup::rows_with(const Field& field, std::size_t rows,
                                                 std::int64_t value) {
  if (!is_built_) build(field, rows);
  if (field.is_null(value)) return {};
  if (is_dense_) {
    const std::uint64_t at = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least_);
    if (value < least_ || at > range_) return {};
    return {rows_.data() + begin_[at], rows_.data() + begin_[at + 1]};
  }
  const auto [first, last] = std::equal_range(keys_.begin(), keys_.end(), value);
  return {rows_.data() + (first - keys_.begin()), rows_.data() + (last - keys_.begin())};
}

}  // namespace sonde::sql
