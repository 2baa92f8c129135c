// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// median(), percentile() and stddev() over the rows of a group.

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "sql/functions.h"

namespace sonde::sql {
namespace {

struct Group {
  std::vector<double> values;
  double percent = 50;
};

bool is_numeric(sqlite3_value* value) {
  const int type = sqlite3_value_numeric_type(value);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

Group* group_of(sqlite3_context* context, bool make) {
  auto** const kept =
      static_cast<Group**>(sqlite3_aggregate_context(context, make ? sizeof(Group*) : 0));
  if (kept == nullptr) return nullptr;
  if (*kept == nullptr && make) *kept = new (std::nothrow) Group;
  return *kept;
}

void add_value(sqlite3_context* context, int count, sqlite3_value** values) {
  Group* const group = group_of(context, true);
  if (group == nullptr) return sqlite3_result_error_nomem(context);
  if (count == 2) group->percent = is_numeric(values[1]) ? sqlite3_value_double(values[1]) : -1;
  if (!(group->percent >= 0 && group->percent <= 100))
    return sqlite3_result_error(context, "percentile: p must be a number from 0 to 100", -1);
  if (!is_numeric(values[0])) return;
  try {
    group->values.push_back(sqlite3_value_double(values[0]));
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

// Interpolates between two values.
double at_percent(std::vector<double>& values, double percent) {
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const double low = values[static_cast<std::size_t>(below)];
  const double part = place - static_cast<double>(below);
  if (part == 0) return low;
  return low + part * (*std::min_element(values.begin() + below + 1, values.end()) - low);
}

void end_percentile(sqlite3_context* context) {
  Group* const group = group_of(context, false);
  if (group != nullptr && !group->values.empty())
    sqlite3_result_double(context, at_percent(group->values, group->percent));
  delete group;
}

void end_deviation(sqlite3_context* context) {
  Group* const group = group_of(context, false);
  if (group != nullptr && group->values.size() > 1) {
    double mean = 0;
    for (const double value : group->values) mean += value;
    mean /= static_cast<double>(group->values.size());
    double squares = 0;
    for (const double value : group->values) squares += (value - mean) * (value - mean);
    sqlite3_result_double(context,
                          std::sqrt(squares / static_cast<double>(group->values.size() - 1)));
  }
  delete group;
}

}  // namespace

void add_statistics(sqlite3* database) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  sqlite3_create_function(database, "median", 1, kFlags, nullptr, nullptr, add_value,
                          end_percentile);
  sqlite3_create_function(database, "percentile", 2, kFlags, nullptr, nullptr, add_value,
                          end_percentile);
  sqlite3_create_function(database, "stddev", 1, kFlags, nullptr, nullptr, add_value,
                          end_deviation);
}

}  // namespace sonde::sql
