// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/table_function.h"

#include <sqlite3.h>

#include <new>
#include <string>

namespace sonde::sql {
namespace {

struct FunctionTable : sqlite3_vtab {
  sqlite3* database = nullptr;
  const TableFunction* function = nullptr;
  int argument = 0;  // the number of its column, which is the last
};

struct FunctionCursor : sqlite3_vtab_cursor {
  sqlite3_stmt* statement = nullptr;
  sqlite3_int64 row = 0;
  bool at_end = true;
};

FunctionTable& table_of(sqlite3_vtab* table) {
  return *static_cast<FunctionTable*>(table);
}
FunctionCursor& rows_of(sqlite3_vtab_cursor* cursor) {
  return *static_cast<FunctionCursor*>(cursor);
}

int connect_function(sqlite3* database, void* function, int /*count*/, const char* const* /*words*/,
                     sqlite3_vtab** made, char** /*error*/) {
  const auto& of = *static_cast<const TableFunction*>(function);
  const std::string columns = of.columns;
  const std::string declaration = "CREATE TABLE x(" + columns + ", " + of.argument + " HIDDEN)";
  const int declared = sqlite3_declare_vtab(database, declaration.c_str());
  if (declared != SQLITE_OK) return declared;
  sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
  auto* const table = new (std::nothrow) FunctionTable();
  if (table == nullptr) return SQLITE_NOMEM;
  table->database = database;
  table->function = &of;
  table->argument = 1;
  for (const char c : columns) table->argument += c == ',' ? 1 : 0;
  *made = table;
  return SQLITE_OK;
}

int disconnect_function(sqlite3_vtab* table) {
  delete &table_of(table);
  return SQLITE_OK;
}

// Without its argument it has no rows to choose from.
int plan_function(sqlite3_vtab* table, sqlite3_index_info* info) {
  constexpr double kRows = 20;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& offered = info->aConstraint[i];
    if (offered.iColumn != table_of(table).argument || offered.op != SQLITE_INDEX_CONSTRAINT_EQ)
      continue;
    if (offered.usable == 0) return SQLITE_CONSTRAINT;
    info->aConstraintUsage[i].argvIndex = 1;
    info->aConstraintUsage[i].omit = 1;
    info->estimatedCost = kRows;
    info->estimatedRows = static_cast<sqlite3_int64>(kRows);
    return SQLITE_OK;
  }
  table->zErrMsg = sqlite3_mprintf("write %s", table_of(table).function->usage);
  return SQLITE_ERROR;
}

int open_function(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** made) {
  *made = new (std::nothrow) FunctionCursor();
  return *made == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int close_function(sqlite3_vtab_cursor* cursor) {
  sqlite3_finalize(rows_of(cursor).statement);
  delete &rows_of(cursor);
  return SQLITE_OK;
}

int next_result(sqlite3_vtab_cursor* cursor) {
  FunctionCursor& at = rows_of(cursor);
  const int result = sqlite3_step(at.statement);
  at.at_end = result != SQLITE_ROW;
  ++at.row;
  return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

int call_function(sqlite3_vtab_cursor* cursor, int /*plan*/, const char* /*text*/, int /*count*/,
                  sqlite3_value** values) {
  FunctionCursor& at = rows_of(cursor);
  const FunctionTable& table = table_of(cursor->pVtab);
  if (at.statement == nullptr) {
    const int prepared =
        sqlite3_prepare_v2(table.database, table.function->select, -1, &at.statement, nullptr);
    if (prepared != SQLITE_OK) return prepared;
  }
  sqlite3_reset(at.statement);
  sqlite3_bind_value(at.statement, 1, values[0]);
  at.row = 0;
  return next_result(cursor);
}

int has_no_more(sqlite3_vtab_cursor* cursor) {
  return rows_of(cursor).at_end ? 1 : 0;
}

int give_result(sqlite3_vtab_cursor* cursor, sqlite3_context* result, int column) {
  if (column < table_of(cursor->pVtab).argument)
    sqlite3_result_value(result, sqlite3_column_value(rows_of(cursor).statement, column));
  return SQLITE_OK;
}

int give_result_number(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = rows_of(cursor).row;
  return SQLITE_OK;
}

// Without xCreate it exists as a function only.
constexpr sqlite3_module make_function_module() {
  sqlite3_module made{};
  made.xConnect = connect_function;
  made.xBestIndex = plan_function;
  made.xDisconnect = disconnect_function;
  made.xOpen = open_function;
  made.xClose = close_function;
  made.xFilter = call_function;
  made.xNext = next_result;
  made.xEof = has_no_more;
  made.xColumn = give_result;
  made.xRowid = give_result_number;
  return made;
}

constexpr sqlite3_module kFunctionModule = make_function_module();

}  // namespace

Result<void> add_table_function(sqlite3* database, const TableFunction& function) {
  if (sqlite3_create_module(database, function.name, &kFunctionModule,
                            const_cast<TableFunction*>(&function)) == SQLITE_OK)
    return {};
  return Failure(ErrorCode::Internal, std::string(sqlite3_errmsg(database)));
}

}  // namespace sonde::sql
