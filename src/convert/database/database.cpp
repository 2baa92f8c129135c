// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>

namespace sonde {

namespace {

constexpr std::size_t kHeaderBytes = 100;
// Where the header says whether there is a write-ahead log: one byte for writers, one for readers.
constexpr std::size_t kFormatByte = 18;
constexpr std::uint8_t kWriteAheadLog = 2;

bool is_logged(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= kHeaderBytes &&
         (bytes[kFormatByte] == kWriteAheadLog || bytes[kFormatByte + 1] == kWriteAheadLog);
}

// A database in memory has no log file, so this makes a copy that does not ask for one.
Result<PaddedBytes> without_log(const PaddedBytes& bytes) {
  const std::size_t size = bytes.bytes().size();
  SONDE_TRY(PaddedBytes copy, PaddedBytes::with_capacity(size));
  SONDE_TRY(const std::span<std::uint8_t> room, copy.room(size));
  std::memcpy(room.data(), bytes.bytes().data(), size);
  room[kFormatByte] = room[kFormatByte + 1] = 1;
  copy.add(size);
  return copy;
}

void limit(sqlite3* database) {
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 1 << 24);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

// Continues where pages are missing or the schema is broken, instead of refusing the whole file.
void tolerate_damage(sqlite3* database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
}

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

bool is_same_column(const std::string& a, const char* b) {
  return sqlite3_stricmp(a.c_str(), b) == 0;
}

}  // namespace

void CloseSqlite::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void CloseSqlite::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

// A row takes at least two bytes, which bounds their number: in a broken file, pages may refer to
// each other and make a table endless.
SqliteRows::SqliteRows(sqlite3_stmt* statement, std::uint64_t file_bytes)
    : statement_(statement), most_rows_(file_bytes / 2), bytes_left_(4 * file_bytes) {}

bool SqliteRows::next() {
  if (!problem_.empty()) return false;
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_DONE) return false;
  if (status != SQLITE_ROW) {
    problem_ = sqlite3_errmsg(sqlite3_db_handle(statement_.get()));
    return false;
  }
  if (++rows_ > most_rows_) {
    problem_ = "it claims more rows than the file can hold";
    return false;
  }
  return true;
}

bool SqliteRows::is_null(std::size_t column) const {
  return sqlite3_column_type(statement_.get(), static_cast<int>(column)) == SQLITE_NULL;
}

std::optional<std::int64_t> SqliteRows::integer(std::size_t column) const {
  const int at = static_cast<int>(column);
  if (sqlite3_column_type(statement_.get(), at) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), at);
}

bool SqliteRows::spend(std::size_t bytes) {
  if (bytes <= bytes_left_) {
    bytes_left_ -= bytes;
    return true;
  }
  problem_ = "it claims more text than the file can hold";
  return false;
}

std::string_view SqliteRows::text(std::size_t column) {
  const int at = static_cast<int>(column);
  if (sqlite3_column_type(statement_.get(), at) != SQLITE_TEXT) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), at));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), at));
  if (text == nullptr || !spend(size)) return {};
  return {text, size};
}

std::span<const std::uint8_t> SqliteRows::blob(std::size_t column) {
  const int at = static_cast<int>(column);
  if (sqlite3_column_type(statement_.get(), at) != SQLITE_BLOB) return {};
  const void* bytes = sqlite3_column_blob(statement_.get(), at);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), at));
  if (bytes == nullptr || !spend(size)) return {};
  return {static_cast<const std::uint8_t*>(bytes), size};
}

Result<SqliteDatabase> SqliteDatabase::over(PaddedBytes bytes, std::string name) {
  const bool logged = is_logged(bytes.bytes());
  if (logged) {
    SONDE_TRY(bytes, without_log(bytes));
  }
  SqliteDatabase database(std::move(bytes), std::move(name));
  database.has_write_ahead_log_ = logged;
  SONDE_TRY_VOID(database.attach());
  if (database.read_schema()) return database;
  database.is_damaged_ = true;
  tolerate_damage(database.database_.get());
  SONDE_TRY_VOID(database.read_schema());
  return database;
}

Result<void> SqliteDatabase::attach() {
  constexpr int kFlags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  sqlite3* opened = nullptr;
  int status = sqlite3_open_v2(":memory:", &opened, kFlags, nullptr);
  database_.reset(opened);
  if (status == SQLITE_OK) {
    limit(opened);
    const auto size = static_cast<sqlite3_int64>(bytes_.bytes().size());
    auto* data = const_cast<unsigned char*>(bytes_.bytes().data());  // never written to
    status = sqlite3_deserialize(opened, "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
  }
  if (status == SQLITE_OK) {
    // Pages are used in place instead of being copied.
    status = sqlite3_exec(opened, "PRAGMA mmap_size=1099511627776; PRAGMA cell_size_check=ON",
                          nullptr, nullptr, nullptr);
  }
  if (status == SQLITE_OK) return {};
  return Failure(ErrorCode::Corrupt,
                 name_ + ": looks like an SQLite database, but cannot be opened: " +
                     (opened == nullptr ? "not enough memory" : sqlite3_errmsg(opened)));
}

Result<void> SqliteDatabase::read_schema() {
  schema_.clear();
  Result<SqliteRows> rows = prepare("SELECT type, name, rootpage FROM sqlite_schema");
  while (rows && rows->next()) {
    const std::string name(rows->text(1));
    if (rows->text(0) == "view") schema_.emplace(name, Kind::View);
    if (rows->text(0) != "table" || name.starts_with("sqlite_")) continue;
    // A virtual table has no root page. Nor does a table whose entry is damaged.
    const bool is_table = is_damaged_ || rows->integer(2).value_or(0) > 0;
    schema_.emplace(name, is_table ? Kind::Table : Kind::Virtual);
  }
  if (rows && rows->problem().empty()) return {};
  if (is_damaged_ && !schema_.empty()) return {};
  return Failure(ErrorCode::Corrupt,
                 name_ + ": is an SQLite database whose list of tables cannot be read: " +
                     sqlite3_errmsg(database_.get()));
}

std::vector<std::string> SqliteDatabase::tables() const {
  std::vector<std::string> names;
  for (const auto& [name, kind] : schema_) {
    if (kind == Kind::Table) names.push_back(name);
  }
  return names;
}

bool SqliteDatabase::has(std::string_view table) const {
  const auto found = schema_.find(table);
  return found != schema_.end() && found->second == Kind::Table;
}

bool SqliteDatabase::has_other(std::string_view table) const {
  const auto found = schema_.find(table);
  return found != schema_.end() && found->second != Kind::Table;
}

Failure SqliteDatabase::lacks(std::string_view table) const {
  const std::string called(table);
  const auto found = schema_.find(table);
  if (found == schema_.end() || found->second == Kind::Table) {
    return Failure(ErrorCode::Invalid, name_ + ": has no table " + called);
  }
  return Failure(ErrorCode::Invalid, name_ + ": " + called + " is a " +
                                         (found->second == Kind::View ? "view" : "virtual table") +
                                         ", not a table; Sonde reads only tables");
}

Result<SqliteRows> SqliteDatabase::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  SqliteRows rows(statement, bytes_.bytes().size());
  if (status == SQLITE_OK && statement != nullptr) return rows;
  return Failure(ErrorCode::Corrupt, name_ + ": " + sqlite3_errmsg(database_.get()));
}

Result<std::vector<std::string>> SqliteDatabase::columns_of(std::string_view table) {
  SONDE_TRY(SqliteRows rows, prepare("PRAGMA table_xinfo(" + quoted(table) + ")"));
  std::vector<std::string> columns;
  while (rows.next()) {
    constexpr std::size_t kName = 1;
    constexpr std::size_t kHidden = 6;
    const bool is_computed = rows.integer(kHidden).value_or(0) != 0;
    if (!is_computed) columns.emplace_back(rows.text(kName));
  }
  return columns;
}

Result<SqliteRows> SqliteDatabase::rows(std::string_view table,
                                        std::span<const char* const> columns,
                                        std::size_t required) {
  if (!has(table)) return lacks(table);
  SONDE_TRY(const std::vector<std::string> there, columns_of(table));
  std::string sql = "SELECT ";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool is_there = std::any_of(there.begin(), there.end(), [&](const std::string& name) {
      return is_same_column(name, columns[i]);
    });
    if (!is_there && i < required) {
      return Failure(ErrorCode::Invalid,
                     name_ + ": the table " + std::string(table) + " has no column " + columns[i]);
    }
    if (i > 0) sql += ',';
    sql += is_there ? quoted(columns[i]) : "NULL";
  }
  if (columns.empty()) sql += "NULL";
  return prepare(sql + " FROM " + quoted(table) + " NOT INDEXED");
}

}  // namespace sonde
