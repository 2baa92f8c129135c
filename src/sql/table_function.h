// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Tables that take an argument, each a query of the database itself: ancestor_slice(5).

#include "sonde/result.h"
#include "sql/perfetto_views.h"

struct sqlite3;

namespace sonde::sql {

// `function` must live as long as the database.
Result<void> add_table_function(sqlite3* database, const TableFunction& function);

}  // namespace sonde::sql
