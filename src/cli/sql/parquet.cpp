// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rows of a query as a Parquet file.

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "cli/sql/sql.h"
#include "convert/columns/parquet_writer.h"

namespace sonde::cli {
namespace {

// A column of a result, whose type is known when all its values are: integers, numbers, or texts.
class ResultColumn {
 public:
  void add(const SqlValue& value) {
    Cell cell;
    if (std::holds_alternative<std::int64_t>(value)) {
      cell = {Kind::Integer, std::get<std::int64_t>(value), 0};
    } else if (std::holds_alternative<double>(value)) {
      cell = {Kind::Real, 0, std::get<double>(value)};
    } else if (std::holds_alternative<std::string_view>(value)) {
      cell = {Kind::Text, place_of(std::get<std::string_view>(value)), 0};
    }
    widest_ = std::max(widest_, cell.kind);
    has_null_ |= cell.kind == Kind::Null;
    cells_.push_back(cell);
  }
  ColumnSpec spec(const std::string& name) const {
    const ColumnType type = widest_ == Kind::Text   ? ColumnType::Text
                            : widest_ == Kind::Real ? ColumnType::Double
                                                    : ColumnType::Int64;
    return {name, type, has_null_};
  }
  ColumnValues chunk() {
    ColumnValues made;
    for (const Cell& cell : cells_) {
      if (has_null_) made.present.push_back(cell.kind != Kind::Null);
      if (cell.kind == Kind::Null) continue;
      if (widest_ == Kind::Integer) made.numbers.push_back(cell.integer);
      if (widest_ == Kind::Real) made.reals.push_back(real_of(cell));
      if (widest_ == Kind::Text) made.indices.push_back(static_cast<std::uint32_t>(text_of(cell)));
    }
    for (const std::string& text : texts_) made.texts.push_back(text);
    return made;
  }

 private:
  enum class Kind : std::uint8_t { Null, Integer, Real, Text };
  struct Cell {
    Kind kind = Kind::Null;
    std::int64_t integer = 0;
    double real = 0;
  };

  std::int64_t place_of(std::string_view text) {
    const auto known = places_.find(text);
    if (known != places_.end()) return known->second;
    std::string whole;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = utf8_sequence(rest);
      whole += size == 0 ? std::string_view("\xef\xbf\xbd") : rest.substr(0, size);
      rest.remove_prefix(std::max<std::size_t>(size, 1));
    }
    keys_.emplace_back(text);
    texts_.push_back(std::move(whole));
    const auto place = static_cast<std::int64_t>(texts_.size() - 1);
    places_.emplace(keys_.back(), place);
    return place;
  }
  static double real_of(const Cell& cell) {
    return cell.kind == Kind::Real ? cell.real : static_cast<double>(cell.integer);
  }
  std::int64_t text_of(const Cell& cell) {
    if (cell.kind == Kind::Text) return cell.integer;
    return place_of(cell.kind == Kind::Integer ? std::to_string(cell.integer)
                                               : format_text("{}", cell.real));
  }

  std::vector<Cell> cells_;
  Kind widest_ = Kind::Null;
  bool has_null_ = false;
  std::deque<std::string> keys_;   // as SQLite gave them
  std::deque<std::string> texts_;  // as they are written
  std::unordered_map<std::string_view, std::int64_t> places_;
};

}  // namespace

Result<void> write_rows_parquet(SqlQuery& query, QueryWatch& watch, const std::string& path) {
  std::vector<ResultColumn> columns(query.columns().size());
  std::size_t rows = 0;
  for (;; ++rows) {
    SONDE_TRY(const bool is_row, watch.next(query));
    if (!is_row) break;
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(query.value(i));
  }
  std::vector<ColumnSpec> specs;
  std::vector<ColumnValues> chunks;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    specs.push_back(columns[i].spec(query.columns()[i]));
    chunks.push_back(columns[i].chunk());
  }
  SONDE_TRY(ParquetWriter file, ParquetWriter::create(path, std::move(specs)));
  if (rows > 0) SONDE_TRY_VOID(file.write_group(rows, chunks));
  return file.finish();
}

}  // namespace sonde::cli
