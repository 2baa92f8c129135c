// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/module.h"

#include <sqlite3.h>

#include <new>
#include <string>

#include "sql/cursor.h"
#include "sql/plan.h"

namespace sonde::sql {
namespace {

struct VirtualTable : sqlite3_vtab {
  explicit VirtualTable(Table& of) : sqlite3_vtab{}, table(of) {}
  Table& table;
};

struct VirtualCursor : sqlite3_vtab_cursor {
  explicit VirtualCursor(Table& table) : sqlite3_vtab_cursor{}, cursor(table) {}
  Cursor cursor;
};

Cursor& cursor_of(sqlite3_vtab_cursor* cursor) {
  return static_cast<VirtualCursor*>(cursor)->cursor;
}

std::string declaration(const Table& table) {
  std::string text = "CREATE TABLE x(";
  for (const Field& field : table.fields()) {
    if (text.back() != '(') text += ", ";
    text += quoted_name(field.name) + ' ' + sql_type(field);
  }
  return text + ')';
}

int connect(sqlite3* database, void* table, int /*count*/, const char* const* /*words*/,
            sqlite3_vtab** made, char** /*error*/) {
  auto& of = *static_cast<Table*>(table);
  const int declared = sqlite3_declare_vtab(database, declaration(of).c_str());
  if (declared != SQLITE_OK) return declared;
  sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
  *made = new (std::nothrow) VirtualTable(of);
  return *made == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

// No exception may pass through SQLite, which is C.
template <typename Work>
int guarded(Work&& work) {
  try {
    work();
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  return guarded([&] { choose_plan(static_cast<VirtualTable*>(table)->table, *info); });
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** made) {
  *made = new (std::nothrow) VirtualCursor(static_cast<VirtualTable*>(table)->table);
  return *made == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<VirtualCursor*>(cursor);
  return SQLITE_OK;
}

int start_cursor(sqlite3_vtab_cursor* cursor, int plan, const char* /*text*/, int /*count*/,
                 sqlite3_value** values) {
  const Table& table = static_cast<VirtualTable*>(cursor->pVtab)->table;
  return guarded([&] { cursor_of(cursor).start(table.plans[plan], values); });
}

int next_row(sqlite3_vtab_cursor* cursor) {
  return guarded([&] { cursor_of(cursor).next(); });
}

int is_at_end(sqlite3_vtab_cursor* cursor) {
  return cursor_of(cursor).at_end() ? 1 : 0;
}

void give_text(sqlite3_context* result, std::string_view text) {
  if (text.data() == nullptr) return sqlite3_result_null(result);
  sqlite3_result_text64(result, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void give_integer(sqlite3_context* result, const Part& part, const Field& field, std::size_t row) {
  const std::int64_t raw = field.raw(row);
  if (field.is_null(raw)) return sqlite3_result_null(result);
  const std::int64_t base = field.type == FieldType::Reference ? part.base_of(field, row) : 0;
  sqlite3_result_int64(result, raw + base);
}

void give_value(sqlite3_context* result, const Part& part, const Field& field, std::size_t row) {
  switch (field.type) {
    case FieldType::Integer:
    case FieldType::Reference:
      return give_integer(result, part, field, row);
    case FieldType::Real: {
      const double value = field.real(row);
      if (field.is_null_real(value)) return sqlite3_result_null(result);
      return sqlite3_result_double(result, value);
    }
    case FieldType::Name: {
      const std::int64_t raw = field.raw(row);
      if (field.is_null(raw)) return sqlite3_result_null(result);
      const std::string_view text =
          part.source->trace.string(StringId(static_cast<std::uint32_t>(raw)));
      return give_text(result, text.data() == nullptr ? std::string_view("") : text);
    }
    case FieldType::Label:
      return give_text(result, field.reader->label(field.raw(row)));
    case FieldType::Text:
      return give_text(result, field.reader->text(field.source, row));
  }
}

int give_column(sqlite3_vtab_cursor* cursor, sqlite3_context* result, int column) {
  const Cursor& at = cursor_of(cursor);
  return guarded([&] {
    const Part& part = at.part();
    give_value(result, part, part.fields[static_cast<std::size_t>(column)], at.row());
  });
}

int give_row_number(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = cursor_of(cursor).id();
  return SQLITE_OK;
}

constexpr sqlite3_module make_module() {
  sqlite3_module made{};
  made.xCreate = connect;
  made.xConnect = connect;
  made.xBestIndex = best_index;
  made.xDisconnect = disconnect;
  made.xDestroy = disconnect;
  made.xOpen = open_cursor;
  made.xClose = close_cursor;
  made.xFilter = start_cursor;
  made.xNext = next_row;
  made.xEof = is_at_end;
  made.xColumn = give_column;
  made.xRowid = give_row_number;
  return made;
}

constexpr sqlite3_module kModule = make_module();

}  // namespace

const char* sql_type(const Field& field) {
  switch (field.type) {
    case FieldType::Integer:
    case FieldType::Reference:
      return "INTEGER";
    case FieldType::Real:
      return "REAL";
    default:
      return "TEXT";
  }
}

std::string quoted_name(std::string_view name) {
  return '"' + std::string(name) + '"';
}

Result<void> add_table(sqlite3* database, Table& table) {
  const std::string module = "sonde_" + table.name();
  sqlite3_create_module(database, module.c_str(), &kModule, &table);
  const std::string made = "CREATE VIRTUAL TABLE " + quoted_name(table.name()) + " USING " + module;
  if (sqlite3_exec(database, made.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Failure(ErrorCode::Internal, std::string(sqlite3_errmsg(database)));
}

}  // namespace sonde::sql
