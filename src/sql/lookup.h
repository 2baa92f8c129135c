// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Rows by the value of one column. A single question is answered by looking at every row, which
// takes a millisecond per million; from the third on there is an index.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/relation.h"

namespace sonde::sql {

class Lookup {
 public:
  // Whether to use rows_with(). Counts the question.
  bool is_worth_it(std::size_t rows) {
    return rows > kFewRows && (++asked_ > kPatience || is_built_);
  }
  // In ascending order.
  std::span<const std::uint32_t> rows_with(const Field& field, std::size_t rows,
                                           std::int64_t value);

 private:
  void build(const Field& field, std::size_t rows);
  void build_dense(const std::vector<std::int64_t>& values);
  void build_sorted(const std::vector<std::int64_t>& values);

  static constexpr std::size_t kFewRows = 64;
  static constexpr std::size_t kPatience = 2;
  std::size_t asked_ = 0;
  bool is_built_ = false;
  bool is_dense_ = false;
  std::int64_t least_ = 0;
  std::uint64_t range_ = 0;
  std::vector<std::uint32_t> rows_;   // by value
  std::vector<std::uint32_t> begin_;  // dense: where the rows of least_ + i begin
  std::vector<std::int64_t> keys_;    // else: the value of each of rows_
};

}  // namespace sonde::sql
