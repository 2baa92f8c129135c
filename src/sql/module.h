// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes tables known to SQLite, as virtual tables.

#include "sonde/result.h"
#include "sql/table.h"

struct sqlite3;

namespace sonde::sql {

// The table must live as long as the database.
Result<void> add_table(sqlite3* database, Table& table);

// "INTEGER", "REAL" or "TEXT".
const char* sql_type(const Field& field);
// A name as SQL writes it, in quotes.
std::string quoted_name(std::string_view name);

}  // namespace sonde::sql
