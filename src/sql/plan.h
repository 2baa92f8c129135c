// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How SQLite wants to read a table: which conditions it hands down, and in which order it wants the
// rows. SQLite keeps the number of a plan, and gives it back when it reads.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

struct sqlite3_index_info;  // NOLINT(readability-identifier-naming): SQLite's name

namespace sonde::sql {

class Table;

enum class Comparison : std::uint8_t {
  Equal,
  Less,
  AtMost,
  Greater,
  AtLeast,
  Like,
  Glob,
  IsNull,
  NotNull
};

struct Condition {
  std::size_t field = 0;
  Comparison comparison = Comparison::Equal;
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct OrderTerm {
  std::size_t field = 0;
  bool descending = false;
  friend bool operator==(const OrderTerm&, const OrderTerm&) = default;
};

struct Plan {
  std::vector<Condition> conditions;  // in the order of their values
  std::vector<OrderTerm> order;       // empty: as the rows are
  friend bool operator==(const Plan&, const Plan&) = default;
};

// All plans so far of one table.
class Plans {
 public:
  int number_of(const Plan& plan);
  const Plan& operator[](int number) const { return plans_[static_cast<std::size_t>(number)]; }

 private:
  std::deque<Plan> plans_;  // a plan in use stays where it is
};

// Takes what a table can do from what SQLite offers, and estimates what it costs.
void choose_plan(Table& table, sqlite3_index_info& info);

}  // namespace sonde::sql
