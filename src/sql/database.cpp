// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "base/format.h"
#include "sonde/sql.h"
#include "sql/functions.h"
#include "sql/hints.h"
#include "sql/module.h"
#include "sql/perfetto_views.h"
#include "sql/table.h"
#include "sql/table_function.h"

namespace sonde {
namespace {

using Clock = std::chrono::steady_clock;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// When the running query has to end.
struct Deadline {
  Clock::time_point at = Clock::time_point::max();
  double seconds = 0;
  const std::atomic<bool>* cancelled = nullptr;

  bool is_cancelled() const {
    return cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
  }
  bool is_over() const { return is_cancelled() || Clock::now() >= at; }
};

constexpr int kLongestValue = 100'000'000;  // bytes of one text or blob

int stop_if_over(void* deadline) {
  return static_cast<const Deadline*>(deadline)->is_over() ? 1 : 0;
}

bool is_harmless_pragma(const char* name) {
  return name != nullptr &&
         (std::strcmp(name, "table_info") == 0 || std::strcmp(name, "table_xinfo") == 0 ||
          std::strcmp(name, "table_list") == 0);
}

// SQLite's functions that load code, take addresses, or belong to tables that cannot exist here.
bool is_harmful_function(const char* name) {
  constexpr std::array<std::string_view, 9> kBegin = {"load_extension", "fts3_",      "fts5",
                                                      "rtree",          "sqlite_log", "matchinfo",
                                                      "offsets",        "optimize",   "snippet"};
  return name != nullptr && std::any_of(kBegin.begin(), kBegin.end(), [&](std::string_view begin) {
           return std::string_view(name).starts_with(begin);
         });
}

// Allows reading and nothing else.
int allow_reading(void* /*unused*/, int action, const char* first, const char* second,
                  const char* /*database*/, const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return is_harmful_function(second) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      return is_harmless_pragma(first) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

std::vector<SqlColumn> columns_of(const sql::Table& table) {
  std::vector<SqlColumn> columns;
  for (const Field& field : table.fields())
    columns.push_back({std::string(field.name), sql::sql_type(field), std::string(field.unit),
                       std::string(field.doc)});
  return columns;
}

std::vector<SqlColumn> columns_of_view(sqlite3* database, const char* name) {
  std::vector<SqlColumn> columns;
  sqlite3_stmt* raw = nullptr;
  const std::string text = "SELECT * FROM " + sql::quoted_name(name);
  sqlite3_prepare_v2(database, text.c_str(), -1, &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(raw);
  for (int i = 0; raw != nullptr && i < sqlite3_column_count(raw); ++i) {
    const char* const type = sqlite3_column_decltype(raw, i);
    columns.push_back({sqlite3_column_name(raw, i), type == nullptr ? "TEXT" : type, "", ""});
  }
  return columns;
}

}  // namespace

struct SqlDatabase::Data {
  std::vector<std::unique_ptr<sql::Source>> sources;
  std::vector<std::unique_ptr<sql::Table>> tables;
  std::vector<SqlTable> described;
  std::unique_ptr<sqlite3, CloseDatabase> database;  // before the tables, which it uses, it closes
  Deadline deadline;

  void number_ids();
  Result<void> add_tables(std::vector<std::unique_ptr<sql::Table>> more);
  Result<void> add_views();
  void lock();
};

// The ids of each table go on where the trace before ends.
void SqlDatabase::Data::number_ids() {
  std::array<std::int64_t, sql::kTableKinds> next{};
  for (const auto& source : sources) {
    source->first_id = next;
    for (const TableKind kind : all_tables())
      next[static_cast<std::size_t>(kind)] +=
          static_cast<std::int64_t>(source->trace.tables().rows(kind));
  }
}

Result<void> SqlDatabase::Data::add_tables(std::vector<std::unique_ptr<sql::Table>> more) {
  sql::Source empty({"", Trace()}, 0);
  for (auto& table : more) {
    table->describe(empty);
    table->attach(sources);
    SONDE_TRY_VOID(sql::add_table(database.get(), *table));
    described.push_back({table->name(), table->doc(), columns_of(*table), false});
    tables.push_back(std::move(table));
  }
  return {};
}

Result<void> SqlDatabase::Data::add_views() {
  for (const sql::View& view : sql::kPerfettoViews) {
    const std::string text =
        "CREATE VIEW " + sql::quoted_name(view.name) + " AS " + std::string(view.select);
    if (sqlite3_exec(database.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return Failure(ErrorCode::Internal, sqlite3_errmsg(database.get()));
    described.push_back({view.name, view.doc, columns_of_view(database.get(), view.name), true});
  }
  for (const sql::TableFunction& function : sql::kPerfettoTableFunctions)
    SONDE_TRY_VOID(sql::add_table_function(database.get(), function));
  return {};
}

void SqlDatabase::Data::lock() {
  sqlite3* const db = database.get();
  sqlite3_exec(db, "PRAGMA temp_store = MEMORY", nullptr, nullptr, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  // These tables are made when they are first used, which is not allowed later.
  sqlite3_exec(db,
               "SELECT 1 FROM json_each('[]'), json_tree('[]'), pragma_table_info('spans'), "
               "pragma_table_list, ancestor_slice(0), descendant_slice(0)",
               nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(db, allow_reading, nullptr);
  constexpr int kStepsBetween = 10'000;
  sqlite3_progress_handler(db, kStepsBetween, stop_if_over, &deadline);
}

SqlDatabase::SqlDatabase(std::unique_ptr<Data> data) : data_(std::move(data)) {}
SqlDatabase::SqlDatabase(SqlDatabase&& other) noexcept = default;
SqlDatabase& SqlDatabase::operator=(SqlDatabase&& other) noexcept = default;
SqlDatabase::~SqlDatabase() = default;

Result<SqlDatabase> SqlDatabase::over(std::vector<NamedTrace> traces) {
  auto data = std::make_unique<Data>();
  for (NamedTrace& named : traces)
    data->sources.push_back(std::make_unique<sql::Source>(std::move(named), data->sources.size()));
  data->number_ids();
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(
      ":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  data->database.reset(raw);
  if (opened != SQLITE_OK) return Failure(ErrorCode::Internal, "SQLite cannot open a database");
  SONDE_TRY_VOID(data->add_tables(sql::model_tables()));
  SONDE_TRY_VOID(data->add_tables(sql::computed_tables()));
  sql::add_functions(raw, data->sources);
  sql::add_statistics(raw);
  SONDE_TRY_VOID(data->add_views());
  data->lock();
  return SqlDatabase(std::move(data));
}

const std::vector<SqlTable>& SqlDatabase::tables() const noexcept {
  return data_->described;
}
const std::vector<SqlFunction>& SqlDatabase::functions() {
  return sql::function_list();
}
void SqlDatabase::limit_memory(std::uint64_t bytes) {
  sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(bytes));
}

struct SqlQuery::Data {
  sqlite3* database = nullptr;
  Deadline* deadline = nullptr;
  Deadline own;
  Clock::duration left{};  // if there is a limit; what is done with the rows does not count
  std::string text;
  std::size_t rest = 0;  // where it begins
  std::vector<std::string> columns;
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement;

  int step();
  Failure failure() const;
};

int SqlQuery::Data::step() {
  *deadline = own;
  if (own.seconds <= 0) return sqlite3_step(statement.get());
  const Clock::time_point begin = Clock::now();
  deadline->at = begin + left;
  const int result = sqlite3_step(statement.get());
  left -= Clock::now() - begin;
  return result;
}

Failure SqlQuery::Data::failure() const {
  const int code = sqlite3_errcode(database);
  if (code == SQLITE_INTERRUPT && own.is_cancelled())
    return Failure(ErrorCode::Invalid, "the query was interrupted");
  if (code == SQLITE_INTERRUPT)
    return Failure(
        ErrorCode::Invalid,
        format_text("the query took longer than {:g} s; --time-limit allows more", own.seconds));
  if (code == SQLITE_TOOBIG)
    return Failure(ErrorCode::Invalid, "a text or blob would be larger than 100 MB");
  if (code == SQLITE_NOMEM)
    return Failure(ErrorCode::Invalid,
                   "the query needs more memory than there is; select fewer rows or columns");
  return Failure(ErrorCode::Invalid, sqlite3_errmsg(database));
}

Result<SqlQuery> SqlDatabase::query(std::string_view text, const QueryLimits& limits) const {
  auto made = std::make_unique<SqlQuery::Data>();
  made->text = text;
  made->database = data_->database.get();
  made->deadline = &data_->deadline;
  made->own.seconds = limits.seconds;
  made->own.cancelled = limits.cancelled;
  made->left = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(limits.seconds, 1e8)));
  data_->deadline = made->own;
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int prepared = sqlite3_prepare_v2(made->database, made->text.data(),
                                          static_cast<int>(made->text.size()), &raw, &tail);
  made->statement.reset(raw);
  if (prepared != SQLITE_OK)
    return Failure(ErrorCode::Invalid,
                   sql::with_hint(sqlite3_errmsg(made->database), text, data_->described));
  if (raw == nullptr) return Failure(ErrorCode::Invalid, "there is no query in the text");
  // The authorizer is not asked about VACUUM.
  if (sqlite3_stmt_readonly(raw) == 0) return Failure(ErrorCode::Invalid, sql::kOnlyReads);
  made->rest = static_cast<std::size_t>(tail - made->text.data());
  for (int i = 0; i < sqlite3_column_count(raw); ++i)
    made->columns.emplace_back(sqlite3_column_name(raw, i));
  return SqlQuery(std::move(made));
}

SqlQuery::SqlQuery(std::unique_ptr<Data> data) : data_(std::move(data)) {}
SqlQuery::SqlQuery(SqlQuery&& other) noexcept = default;
SqlQuery& SqlQuery::operator=(SqlQuery&& other) noexcept = default;
SqlQuery::~SqlQuery() = default;

const std::vector<std::string>& SqlQuery::columns() const noexcept {
  return data_->columns;
}

std::string_view SqlQuery::rest() const noexcept {
  return std::string_view(data_->text).substr(data_->rest);
}

Result<bool> SqlQuery::next() {
  switch (data_->step()) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return data_->failure();
  }
}

SqlValue SqlQuery::value(std::size_t column) const {
  sqlite3_stmt* const statement = data_->statement.get();
  const int i = static_cast<int>(column);
  switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, i)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, i);
    case SQLITE_TEXT:
    case SQLITE_BLOB: {
      const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
      return text == nullptr ? std::string_view() : std::string_view(text, size);
    }
    default:
      return std::monostate();
  }
}

}  // namespace sonde
