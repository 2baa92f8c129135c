// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A trace as an SQLite database: one table for each table, names inline, with indexes.

#include <sqlite3.h>

#include <memory>

#include "base/file.h"
#include "base/format.h"
#include "sonde/export.h"
#include "trace/relation.h"

namespace sonde {
namespace {

struct CloseWritten {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinalizeInsert {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class DatabaseWriter {
 public:
  static Result<DatabaseWriter> create(const std::string& path) {
    sqlite3* raw = nullptr;
    const int opened =
        sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    DatabaseWriter writer(path, raw);
    if (opened != SQLITE_OK) return writer.failure();
    SONDE_TRY_VOID(writer.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN"));
    return writer;
  }

  Result<void> add(const Trace& trace, const Relation& table) {
    SONDE_TRY_VOID(run(declaration_of(table)));
    SONDE_TRY_VOID(insert_rows(trace, table));
    for (const Field& field : table.fields) {
      const bool is_searched = field.type == FieldType::Reference || field.name == "name" ||
                               field.name == "start_ns" || field.name == "correlation";
      if (!is_searched || !has_values(field, table.rows)) continue;
      const std::string name(table.name);
      SONDE_TRY_VOID(
          run(format_text(R"(CREATE INDEX "{0}_{1}" ON "{0}"("{1}"))", name, field.name)));
    }
    return {};
  }
  Result<void> finish() { return run("COMMIT"); }

 private:
  DatabaseWriter(std::string path, sqlite3* database)
      : path_(std::move(path)), database_(database) {}

  Failure failure() const {
    return Failure(ErrorCode::Io,
                   path_ + ": cannot be written: " + sqlite3_errmsg(database_.get()));
  }
  Result<void> run(const std::string& text) {
    if (sqlite3_exec(database_.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return failure();
    return {};
  }

  static bool has_values(const Field& field, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row)
      if (!field.is_null(field.raw(row))) return true;
    return false;
  }

  static std::string declaration_of(const Relation& table) {
    std::string text =
        "CREATE TABLE \"" + std::string(table.name) + "\"(\"id\" INTEGER PRIMARY KEY";
    for (const Field& field : table.fields) {
      const bool is_number = field.type == FieldType::Integer || field.type == FieldType::Reference;
      text += ", \"" + std::string(field.name) + "\" " +
              (is_number                       ? "INTEGER"
               : field.type == FieldType::Real ? "REAL"
                                               : "TEXT");
    }
    return text + ")";
  }

  Result<void> insert_rows(const Trace& trace, const Relation& table) {
    std::string text = "INSERT INTO \"" + std::string(table.name) + "\" VALUES (?";
    for (std::size_t i = 0; i < table.fields.size(); ++i) text += ", ?";
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), (text + ")").c_str(), -1, &raw, nullptr) != SQLITE_OK)
      return failure();
    const std::unique_ptr<sqlite3_stmt, FinalizeInsert> insert(raw);
    for (std::size_t row = 0; row < table.rows; ++row) {
      sqlite3_bind_int64(raw, 1, static_cast<sqlite3_int64>(row));
      for (std::size_t i = 0; i < table.fields.size(); ++i)
        bind(raw, static_cast<int>(i) + 2, trace, table.fields[i], row);
      if (sqlite3_step(raw) != SQLITE_DONE) return failure();
      sqlite3_reset(raw);
    }
    return {};
  }

  static void bind(sqlite3_stmt* insert, int place, const Trace& trace, const Field& field,
                   std::size_t row) {
    if (field.type == FieldType::Real) {
      const double value = field.real(row);
      if (field.is_null_real(value)) {
        sqlite3_bind_null(insert, place);
      } else {
        sqlite3_bind_double(insert, place, value);
      }
      return;
    }
    const std::int64_t raw = field.raw(row);
    if (field.is_null(raw)) {
      sqlite3_bind_null(insert, place);
    } else if (field.type == FieldType::Name || field.type == FieldType::Label) {
      const std::string_view text = field.type == FieldType::Label
                                        ? field.reader->label(raw)
                                        : trace.string(StringId(static_cast<std::uint32_t>(raw)));
      sqlite3_bind_text64(insert, place, text.empty() ? "" : text.data(), text.size(),
                          SQLITE_STATIC, SQLITE_UTF8);
    } else {
      sqlite3_bind_int64(insert, place, raw);
    }
  }

  std::string path_;
  std::unique_ptr<sqlite3, CloseWritten> database_;
};

Result<void> write_database(const Trace& trace, const std::string& path) {
  SONDE_TRY(DatabaseWriter writer, DatabaseWriter::create(path));
  for (const TableKind kind : all_tables())
    SONDE_TRY_VOID(writer.add(trace, relation(trace, kind)));
  return writer.finish();
}

}  // namespace

Result<void> export_sqlite(const Trace& trace, const std::string& path) {
  return write_replacing(
      path, [&](const std::string& temporary) { return write_database(trace, temporary); });
}

}  // namespace sonde
