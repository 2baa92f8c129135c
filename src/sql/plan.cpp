// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/plan.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "sql/table.h"

namespace sonde::sql {
namespace {

std::optional<Comparison> comparison_of(unsigned char op) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return Comparison::Equal;
    case SQLITE_INDEX_CONSTRAINT_LT:
      return Comparison::Less;
    case SQLITE_INDEX_CONSTRAINT_LE:
      return Comparison::AtMost;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return Comparison::Greater;
    case SQLITE_INDEX_CONSTRAINT_GE:
      return Comparison::AtLeast;
    case SQLITE_INDEX_CONSTRAINT_LIKE:
      return Comparison::Like;
    case SQLITE_INDEX_CONSTRAINT_GLOB:
      return Comparison::Glob;
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
      return Comparison::IsNull;
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
      return Comparison::NotNull;
    default:
      return std::nullopt;
  }
}

bool is_number(const Field& field) {
  return field.type == FieldType::Integer || field.type == FieldType::Reference;
}

// Conditions that this table checks itself, exactly as SQLite would.
bool can_check(const Field& field, Comparison comparison) {
  if (field.refers_by_row != nullptr) return false;
  switch (comparison) {
    case Comparison::Equal:
      return field.type != FieldType::Real;
    case Comparison::Less:
    case Comparison::AtMost:
    case Comparison::Greater:
    case Comparison::AtLeast:
      return is_number(field);
    case Comparison::Like:
    case Comparison::Glob:
      return field.type == FieldType::Name || field.type == FieldType::Label;
    case Comparison::IsNull:
    case Comparison::NotNull:
      return is_number(field) || field.type == FieldType::Name;
  }
  return false;
}

// The share of rows that remains.
double selectivity(const Field& field, std::size_t column, Comparison comparison, double rows) {
  if (comparison == Comparison::NotNull) return 0.9;
  if (comparison != Comparison::Equal) return comparison == Comparison::Like ? 0.1 : 0.25;
  if (column == 0) return 1 / rows;
  if (field.name == "rank" || field.type == FieldType::Label || field.type == FieldType::Text)
    return 0.2;
  if (field.type == FieldType::Name) return 0.01;
  return std::min(1.0, 2 / rows);
}

struct Estimate {
  double rows;
  bool unique = false;
};

Estimate take_conditions(const Table& table, sqlite3_index_info& info, Plan& plan, double rows) {
  Estimate estimate{rows};
  int values = 0;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& offered = info.aConstraint[i];
    const std::optional<Comparison> comparison = comparison_of(offered.op);
    if (offered.usable == 0 || offered.iColumn < 0 || !comparison) continue;
    const auto column = static_cast<std::size_t>(offered.iColumn);
    const Field& field = table.fields()[column];
    if (!can_check(field, *comparison)) continue;
    const bool of_text = !is_number(field) && *comparison == Comparison::Equal;
    if (of_text && std::string_view(sqlite3_vtab_collation(&info, i)) != "BINARY") continue;
    info.aConstraintUsage[i].argvIndex = ++values;
    info.aConstraintUsage[i].omit = 1;
    plan.conditions.push_back({column, *comparison});
    estimate.rows *= selectivity(field, column, *comparison, rows);
    estimate.unique |= column == 0 && *comparison == Comparison::Equal;
  }
  estimate.rows = std::max(estimate.rows, 1.0);
  return estimate;
}

// Rows can be put in the order of any columns whose values compare as integers or names do.
bool take_order(const Table& table, const sqlite3_index_info& info, Plan& plan) {
  if (info.nOrderBy == 0) return false;
  for (int i = 0; i < info.nOrderBy; ++i) {
    const auto& wanted = info.aOrderBy[i];
    if (wanted.iColumn < 0) return false;
    const Field& field = table.fields()[static_cast<std::size_t>(wanted.iColumn)];
    if (field.type == FieldType::Real || field.type == FieldType::Text ||
        field.refers_by_row != nullptr)
      return false;
    plan.order.push_back({static_cast<std::size_t>(wanted.iColumn), wanted.desc != 0});
  }
  return true;
}

}  // namespace

int Plans::number_of(const Plan& plan) {
  const auto found = std::find(plans_.begin(), plans_.end(), plan);
  if (found != plans_.end()) return static_cast<int>(found - plans_.begin());
  plans_.push_back(plan);
  return static_cast<int>(plans_.size() - 1);
}

void choose_plan(Table& table, sqlite3_index_info& info) {
  Plan plan;
  const double rows = std::max(1.0, static_cast<double>(table.rows()));
  const Estimate estimate = take_conditions(table, info, plan, rows);
  if (take_order(table, info, plan)) {
    info.orderByConsumed = 1;
  } else {
    plan.order.clear();
  }
  info.estimatedRows = static_cast<sqlite3_int64>(estimate.rows);
  info.estimatedCost = estimate.rows + (estimate.rows < rows / 10 ? 10 : rows / 20);
  if (estimate.unique) info.idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  info.idxNum = table.plans.number_of(plan);
}

}  // namespace sonde::sql
