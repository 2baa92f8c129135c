// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the readers of profilers' databases share: a database, the trace made from it, names by
// number, and the tracks of events.
//
//   SqliteTables tables(database, builder);
//   SONDE_TRY_VOID(tables.read("T", {"start", "end"}, 2, [&](SqliteRows& row) {
//     const auto when = tables.when(row, 0);
//     if (!when) return false;  // counted in the ledger
//     …
//     return true;
//   }));

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "convert/database/database.h"
#include "sonde/trace/builder.h"

namespace sonde {

struct When {
  Nanos start_ns;
  Nanos end_ns;
  Nanos duration_ns() const { return end_ns - start_ns; }
};

class SqliteTables {
 public:
  SqliteTables(SqliteDatabase& database, TraceBuilder& builder)
      : database_(database), builder_(builder) {}

  SqliteDatabase& database() { return database_; }
  TraceBuilder& builder() { return builder_; }

  // Visits all rows of a table. A missing table has no rows; a view in its place is an error. If
  // the table exists, so must its first `required` columns. Rows for which `visit` returns false
  // count as undecodable, and a table that ends early counts as damaged.
  using Visit = std::function<bool(SqliteRows&)>;
  Result<void> read(std::string_view table, const std::vector<const char*>& columns,
                    std::size_t required, const Visit& visit);
  // Adds a ledger row for each table with rows that was not read, except those for which `is_known`
  // is true.
  void note_unread(const std::function<bool(std::string_view)>& is_known);

  // Times of a row from the column `start` and the one after it, on the trace's clock; nothing if
  // they are missing or invalid.
  std::optional<When> when(const SqliteRows& row, std::size_t start) const;
  std::optional<Nanos> time(const SqliteRows& row, std::size_t column) const;
  // Sets what is added to all times.
  void set_base(Nanos base_ns) { base_ns_ = base_ns; }

  void add_name(std::int64_t number, StringId text) { names_.emplace(number, text); }
  // A placeholder for a number without a name.
  StringId name(std::int64_t number);

  ProcessId process(std::int64_t pid);
  TrackId thread(std::int64_t pid, std::int64_t tid);
  // Pass kNoStream for the device as a whole.
  TrackId stream(std::int64_t pid, std::int64_t device, std::int64_t context, std::int64_t stream);
  static constexpr std::int64_t kNoStream = 0xffffffff;  // as CUPTI writes it

  void keep_extra(SpanId span, std::string_view key, std::string_view json);

 private:
  void note_damage(std::string_view table, std::string_view what);

  SqliteDatabase& database_;
  TraceBuilder& builder_;
  Nanos base_ns_ = 0;
  std::vector<std::string> read_;
  std::unordered_map<std::int64_t, StringId> names_;
  std::map<std::int64_t, ProcessId> processes_;
  std::map<std::tuple<std::int64_t, std::int64_t>, TrackId> threads_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, TrackId> streams_;
};

// A whole number of a row and the name of its column. A value that does not fit is skipped.
template <typename Row>
struct NumberColumn {
  const char* column;
  std::int32_t Row::* small = nullptr;
  std::int64_t Row::* large = nullptr;
};

// Reads the columns `first`, `first` + 1, … into `to`.
template <typename Row, std::size_t Count>
void fill_numbers(const SqliteRows& from, std::size_t first,
                  const NumberColumn<Row> (&columns)[Count], Row& to) {
  for (std::size_t i = 0; i < Count; ++i) {
    const std::optional<std::int64_t> value = from.integer(first + i);
    if (!value) continue;
    if (columns[i].large != nullptr) to.*columns[i].large = *value;
    const bool is_small = *value >= INT32_MIN && *value <= INT32_MAX;
    if (columns[i].small != nullptr && is_small) {
      to.*columns[i].small = static_cast<std::int32_t>(*value);
    }
  }
}

template <typename Row, std::size_t Count>
void append_columns(std::vector<const char*>& to, const NumberColumn<Row> (&columns)[Count]) {
  for (const NumberColumn<Row>& column : columns) to.push_back(column.column);
}

}  // namespace sonde
