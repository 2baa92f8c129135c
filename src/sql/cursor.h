// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Walks over the rows of a table that satisfy the conditions of a plan.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sql/filter.h"
#include "sql/order.h"
#include "sql/table.h"

struct sqlite3_value;

namespace sonde::sql {

class Cursor {
 public:
  explicit Cursor(Table& table) : table_(table) {}

  void start(const Plan& plan, sqlite3_value** values);
  bool at_end() const { return at_end_; }
  void next();

  const Part& part() const { return (*parts_)[part_]; }
  std::size_t row() const { return row_; }
  std::int64_t id() const;

 private:
  using Stretch = std::pair<std::size_t, std::size_t>;  // from, to

  // Finds the next row in the current part or a later one.
  void find_next();
  bool find_in_part();
  bool enter_part();
  void choose_way(Part& part);
  using Times = std::pair<Nanos, Nanos>;  // first, last
  void add_stretches_of_times(const Part& part, Times times);
  bool passes(std::size_t row) const;
  void sort_rows(const Plan& plan);

  Table& table_;
  std::vector<Part>* parts_ = nullptr;
  const Plan* plan_ = nullptr;
  std::vector<Operand> operands_;
  std::vector<std::vector<Filter>> filters_by_part_;
  std::span<const Filter> filters_;  // of the current part

  std::size_t part_ = 0;
  std::size_t row_ = 0;
  bool at_end_ = true;

  // The rows of the current part to look at: stretches of rows, or those of a lookup.
  std::vector<Stretch> stretches_;
  std::size_t stretch_ = 0;
  std::size_t next_row_ = 0;
  const Filter* driver_ = nullptr;  // whose range is searched for within stretches
  bool is_lookup_ = false;
  std::span<const std::uint32_t> found_;
  std::size_t next_found_ = 0;

  bool is_sorted_ = false;
  std::vector<RowAt> sorted_;
  std::size_t next_sorted_ = 0;
};

}  // namespace sonde::sql
