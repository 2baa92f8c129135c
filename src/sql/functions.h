// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// SQL functions: names, times, stacks, and the statistics that SQLite lacks.

#include <memory>
#include <vector>

#include "sonde/sql.h"
#include "sql/table.h"

struct sqlite3;

namespace sonde::sql {

void add_functions(sqlite3* database, std::vector<std::unique_ptr<Source>>& sources);
// The same for aggregates: median and percentile.
void add_statistics(sqlite3* database);

const std::vector<SqlFunction>& function_list();

}  // namespace sonde::sql
