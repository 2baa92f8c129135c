// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Rows of a column before they are packed, which takes less time for many at once.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sonde/trace/column.h"

namespace sonde {

// The rows that were added last, which may be written again: a span gets its end, and an operator
// its inputs, soon after it began.
inline constexpr std::size_t kRecentRows = 2 * detail::kPackedRows;

template <typename T>
class RecentRows {
 public:
  explicit RecentRows(Column<T>& column) : column_(column) {}
  RecentRows(const RecentRows&) = delete;
  RecentRows& operator=(const RecentRows&) = delete;

  T operator[](std::size_t row) const noexcept {
    return row >= first_ ? values_[row - first_] : column_[row];
  }
  // Any row for which there was room.
  void set(std::size_t row, T value) {
    if (row < first_) return column_.set(row, value);
    values_[row - first_] = value;
  }

  // Makes room for more rows, which are null, and returns until which row. There are many threads,
  // and most have few spans.
  std::size_t make_room() {
    constexpr std::size_t kFirst = 16;
    constexpr std::size_t kHalf = kRecentRows / 2;
    if (values_.size() < kRecentRows) {
      values_.resize(std::max(kFirst, values_.size() * 2), column_.null_value());
    } else {
      column_.append(values_.data(), kHalf);
      first_ += kHalf;
      std::copy_n(values_.data() + kHalf, kHalf, values_.data());
      std::fill_n(values_.data() + kHalf, kHalf, column_.null_value());
    }
    return first_ + values_.size();
  }
  // Hands over the rest, for a column of so many rows.
  void finish(std::size_t rows) { column_.append(values_.data(), rows - first_); }

 private:
  Column<T>& column_;
  std::size_t first_ = 0;  // the row of the first value
  std::vector<T> values_;
};

// Adds values to a column. There are many columns, and most are short.
template <typename T>
class NewRows {
 public:
  explicit NewRows(Column<T>& column) : column_(column) {}
  NewRows(const NewRows&) = delete;
  NewRows& operator=(const NewRows&) = delete;

  void push_back(T value) {
    if (count_ == values_.size()) make_room();
    values_[count_++] = value;
  }
  void finish() {
    column_.append(values_.data(), count_);
    count_ = 0;
  }

 private:
  void make_room() {
    constexpr std::size_t kFirst = 16;
    if (values_.size() < detail::kPackedRows) {
      values_.resize(std::max(kFirst, values_.size() * 2));
    } else {
      finish();
    }
  }

  Column<T>& column_;
  std::size_t count_ = 0;
  std::vector<T> values_;
};

}  // namespace sonde
