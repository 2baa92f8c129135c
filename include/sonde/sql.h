// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Traces as a database: SQL over the columns, without importing anything.
//
//   SONDE_TRY(const SqlDatabase database, SqlDatabase::over({{"run.sonde", trace}}));
//   SONDE_TRY(SqlQuery query, database.query("SELECT name, total_ns FROM operators LIMIT 5"));
//   for (;;) {
//     SONDE_TRY(const bool row, query.next());
//     if (!row) break;
//     … query.value(0) …
//   }
//
// docs/sql.md lists the tables and functions. Queries only read: they cannot change, attach or open
// anything. A database and its queries belong to one thread at a time.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

struct NamedTrace {
  std::string name;  // shown in the column `file`
  Trace trace;
};

struct SqlColumn {
  std::string name;
  std::string type;  // "INTEGER", "REAL" or "TEXT"
  std::string unit;
  std::string doc;
};

struct SqlTable {
  std::string name;
  std::string doc;
  std::vector<SqlColumn> columns;
  bool is_view = false;
};

struct SqlFunction {
  std::string usage;  // "overlap(start, end, start, end)"
  std::string doc;
};

// NULL, an integer, a number, or a text that is valid until the next row.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string_view>;

struct QueryLimits {
  double seconds = 0;                            // 0: none
  const std::atomic<bool>* cancelled = nullptr;  // set it to end the query
};

// The rows that a query gives. It must not outlive its database.
class SqlQuery {
 public:
  SqlQuery(SqlQuery&& other) noexcept;
  SqlQuery& operator=(SqlQuery&& other) noexcept;
  SqlQuery(const SqlQuery&) = delete;
  SqlQuery& operator=(const SqlQuery&) = delete;
  ~SqlQuery();

  const std::vector<std::string>& columns() const noexcept;
  // Moves to the next row, the first at the first call; false after the last.
  Result<bool> next();
  SqlValue value(std::size_t column) const;
  // What follows the query in the text that it was made from, after its semicolon.
  std::string_view rest() const noexcept;

 private:
  friend class SqlDatabase;
  struct Data;
  explicit SqlQuery(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

class SqlDatabase {
 public:
  // Ids count on from trace to trace, so that tables join as they do for one trace.
  static Result<SqlDatabase> over(std::vector<NamedTrace> traces);
  SqlDatabase(SqlDatabase&& other) noexcept;
  SqlDatabase& operator=(SqlDatabase&& other) noexcept;
  SqlDatabase(const SqlDatabase&) = delete;
  SqlDatabase& operator=(const SqlDatabase&) = delete;
  ~SqlDatabase();

  // The first query in `text`. The error says where the text is wrong and, if a name is unknown,
  // which one is near it.
  Result<SqlQuery> query(std::string_view text, const QueryLimits& limits = {}) const;

  const std::vector<SqlTable>& tables() const noexcept;
  static const std::vector<SqlFunction>& functions();

  // The most memory that SQLite may take in this process, for all databases together.
  static void limit_memory(std::uint64_t bytes);

 private:
  struct Data;
  explicit SqlDatabase(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace sonde
