// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Implements sonde/sql.h for builds without SQLite.

#include "sonde/sql.h"

namespace sonde {

struct SqlDatabase::Data {};
struct SqlQuery::Data {};

namespace {

Failure no_sqlite() {
  return Failure(ErrorCode::Unsupported,
                 "this Sonde was built without SQLite, so it has no SQL; install libsqlite3-dev "
                 "and build again");
}

const std::vector<std::string> kNoColumns;
const std::vector<SqlTable> kNoTables;
const std::vector<SqlFunction> kNoFunctions;

}  // namespace

SqlDatabase::SqlDatabase(std::unique_ptr<Data> data) : data_(std::move(data)) {}
SqlDatabase::SqlDatabase(SqlDatabase&& other) noexcept = default;
SqlDatabase& SqlDatabase::operator=(SqlDatabase&& other) noexcept = default;
SqlDatabase::~SqlDatabase() = default;
Result<SqlDatabase> SqlDatabase::over(std::vector<NamedTrace> /*traces*/) {
  return no_sqlite();
}
Result<SqlQuery> SqlDatabase::query(std::string_view /*text*/,
                                    const QueryLimits& /*limits*/) const {
  return no_sqlite();
}
const std::vector<SqlTable>& SqlDatabase::tables() const noexcept {
  return kNoTables;
}
const std::vector<SqlFunction>& SqlDatabase::functions() {
  return kNoFunctions;
}
void SqlDatabase::limit_memory(std::uint64_t /*bytes*/) {}

SqlQuery::SqlQuery(std::unique_ptr<Data> data) : data_(std::move(data)) {}
SqlQuery::SqlQuery(SqlQuery&& other) noexcept = default;
SqlQuery& SqlQuery::operator=(SqlQuery&& other) noexcept = default;
SqlQuery::~SqlQuery() = default;
const std::vector<std::string>& SqlQuery::columns() const noexcept {
  return kNoColumns;
}
Result<bool> SqlQuery::next() {
  return no_sqlite();
}
SqlValue SqlQuery::value(std::size_t /*column*/) const {
  return std::monostate();
}
std::string_view SqlQuery::rest() const noexcept {
  return {};
}

}  // namespace sonde
