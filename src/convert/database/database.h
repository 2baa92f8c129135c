// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An SQLite file that someone else wrote, read as tables of rows.
//
//   SONDE_TRY(SqliteDatabase database, SqliteDatabase::over(std::move(bytes), "report.sqlite"));
//   SONDE_TRY(SqliteRows rows, database.rows("StringIds", {"id", "value"}));
//   while (rows.next()) names[rows.integer(0).value_or(0)] = rows.text(1);
//   if (!rows.problem().empty()) …  // the table breaks off there
//
// Nothing in the file is trusted. It is read from memory, without locks, journals or writes. Views,
// virtual tables and computed columns are ignored, indexes are not used, and the size of the file
// limits what a query may return. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/json/json_bytes.h"
#include "sonde/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sonde {

struct CloseSqlite {
  void operator()(sqlite3* database) const;
  void operator()(sqlite3_stmt* statement) const;
};

// The rows of a table, one at a time. Values live until the next row.
class SqliteRows {
 public:
  // False at the end, or where the table becomes unreadable.
  bool next();
  bool is_null(std::size_t column) const;
  // Nothing unless the value is a whole number; the same holds for text and bytes.
  std::optional<std::int64_t> integer(std::size_t column) const;
  std::string_view text(std::size_t column);
  std::span<const std::uint8_t> blob(std::size_t column);
  std::uint64_t rows_read() const { return rows_; }
  // Why the table ended early; empty if it did not.
  const std::string& problem() const { return problem_; }

 private:
  friend class SqliteDatabase;
  SqliteRows(sqlite3_stmt* statement, std::uint64_t file_bytes);
  bool spend(std::size_t bytes);

  std::unique_ptr<sqlite3_stmt, CloseSqlite> statement_;
  std::uint64_t rows_ = 0;
  std::uint64_t most_rows_;
  std::uint64_t bytes_left_;
  std::string problem_;
};

class SqliteDatabase {
 public:
  // `name` appears in messages.
  static Result<SqliteDatabase> over(PaddedBytes bytes, std::string name);

  const std::string& name() const { return name_; }
  // Whether parts of the file are missing or broken, as far as its first page shows.
  bool is_damaged() const { return is_damaged_; }
  // Whether newer pages may be in a file beside it.
  bool has_write_ahead_log() const { return has_write_ahead_log_; }
  // Names of real tables, sorted.
  std::vector<std::string> tables() const;
  bool has(std::string_view table) const;
  // Whether something other than a table has that name.
  bool has_other(std::string_view table) const;
  // "has no table X", or what X is instead.
  Failure lacks(std::string_view table) const;

  // All rows of a table, in the order they are stored. A missing column is null; the first
  // `required` ones must exist.
  Result<SqliteRows> rows(std::string_view table, std::span<const char* const> columns,
                          std::size_t required = 0);

 private:
  enum class Kind : std::uint8_t { Table, View, Virtual };

  SqliteDatabase(PaddedBytes bytes, std::string name)
      : bytes_(std::move(bytes)), name_(std::move(name)) {}
  Result<void> attach();
  Result<void> read_schema();
  Result<SqliteRows> prepare(const std::string& sql);
  Result<std::vector<std::string>> columns_of(std::string_view table);

  PaddedBytes bytes_;
  std::string name_;
  bool is_damaged_ = false;
  bool has_write_ahead_log_ = false;
  std::map<std::string, Kind, std::less<>> schema_;
  std::unique_ptr<sqlite3, CloseSqlite> database_;  // after the bytes: closed first
};

}  // namespace sonde
