// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rows of a query as text: a table, Markdown, CSV or JSON.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/json.h"
#include "base/readable.h"
#include "cli/print/csv.h"
#include "cli/print/markdown.h"
#include "cli/sql/sql.h"

namespace sonde::cli {
namespace {

using Cells = std::vector<std::string>;

// Rows whose cells decide how wide the columns are; later ones are printed as they come.
constexpr std::size_t kRowsMeasured = 1000;
constexpr std::size_t kWidestCell = 72;

std::string json_number(double value) {
  char digits[kMaxJsonNumber];
  return {digits, static_cast<std::size_t>(put_json_number(digits, value) - digits)};
}

struct AsText {
  std::string operator()(std::monostate) const { return "NULL"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return format_text("{:.6g}", number); }
  std::string operator()(std::string_view text) const { return readable_line(text); }
};

struct AsCsv {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return json_number(number); }
  std::string operator()(std::string_view text) const { return csv_cell(text); }
};

struct AsJson {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return json_number(number); }
  std::string operator()(std::string_view text) const { return json_string(text); }
};

template <typename As>
Cells cells_of(const SqlQuery& query) {
  Cells cells;
  for (std::size_t i = 0; i < query.columns().size(); ++i)
    cells.push_back(std::visit(As(), query.value(i)));
  return cells;
}

// Letters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// At most so many letters, the last a sign that there are more.
std::string cut_to(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::string kept;
  std::size_t letters = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (begins && ++letters == width) break;
    kept += c;
  }
  return kept + "…";
}

class AlignedRows {
 public:
  AlignedRows(const SqlQuery& query, Output& out)
      : out_(out), widest_(query.columns().size() == 1 ? 4000 : kWidestCell) {
    for (const std::string& name : query.columns()) titles_.push_back(readable_line(name));
    widths_.resize(titles_.size());
    is_number_.resize(titles_.size(), true);
  }

  void add(const SqlQuery& query) {
    Cells cells = cells_of<AsText>(query);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = cut_to(cells[i], widest_);
      if (std::holds_alternative<std::string_view>(query.value(i))) is_number_[i] = false;
    }
    if (is_printing_) return print(cells);
    rows_.push_back(std::move(cells));
    if (rows_.size() == kRowsMeasured) begin();
  }
  void end() {
    if (!is_printing_) begin();
  }

 private:
  void begin() {
    is_printing_ = true;
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      widths_[i] = width_of(titles_[i]);
      for (const Cells& row : rows_) widths_[i] = std::max(widths_[i], width_of(row[i]));
    }
    print(titles_);
    Cells lines;
    for (const std::size_t width : widths_) lines.emplace_back(width, '-');
    print(lines);
    for (const Cells& row : rows_) print(row);
    rows_.clear();
  }
  void print(const Cells& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t used = width_of(cells[i]);
      const std::string room(widths_[i] > used ? widths_[i] - used : 0, ' ');
      line += i == 0 ? "" : "  ";
      line += is_number_[i] ? room + cells[i] : cells[i] + room;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_.line(line);
  }

  Output& out_;
  std::size_t widest_;
  Cells titles_;
  std::vector<std::size_t> widths_;
  std::vector<bool> is_number_;
  std::vector<Cells> rows_;
  bool is_printing_ = false;
};

template <typename Each>
Result<void> for_each_row(SqlQuery& query, QueryWatch& watch, Output& out, Each&& each) {
  for (;;) {
    SONDE_TRY(const bool is_row, watch.next(query));
    if (!is_row || !out.ok()) return {};
    each();
  }
}

Result<void> print_table(SqlQuery& query, QueryWatch& watch, Output& out) {
  AlignedRows rows(query, out);
  SONDE_TRY_VOID(for_each_row(query, watch, out, [&] { rows.add(query); }));
  rows.end();
  return {};
}

void print_markdown_row(const Cells& cells, Output& out) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + markdown_text(cell) + " |";
  out.line(line);
}

Result<void> print_markdown(SqlQuery& query, QueryWatch& watch, Output& out) {
  print_markdown_row(query.columns(), out);
  print_markdown_row(Cells(query.columns().size(), "---"), out);
  return for_each_row(query, watch, out, [&] { print_markdown_row(cells_of<AsText>(query), out); });
}

std::string joined(const Cells& cells, std::string_view between) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != cells.data()) line += between;
    line += cell;
  }
  return line;
}

Result<void> print_csv(SqlQuery& query, QueryWatch& watch, Output& out) {
  out.for_programs();
  Cells titles;
  for (const std::string& name : query.columns()) titles.push_back(csv_cell(name));
  out.line(joined(titles, ","));
  return for_each_row(query, watch, out, [&] { out.line(joined(cells_of<AsCsv>(query), ",")); });
}

// Keys of one object differ: name, name_2.
Cells json_keys(const SqlQuery& query) {
  std::set<std::string> used;
  Cells keys;
  for (const std::string& name : query.columns()) {
    std::string key = name;
    for (int i = 2; !used.insert(key).second; ++i) key = name + "_" + std::to_string(i);
    keys.push_back(json_string(key) + ": ");
  }
  return keys;
}

Result<void> print_json(SqlQuery& query, QueryWatch& watch, Output& out) {
  out.for_programs();
  const Cells keys = json_keys(query);
  out.write("[");
  bool is_first = true;
  SONDE_TRY_VOID(for_each_row(query, watch, out, [&] {
    Cells cells = cells_of<AsJson>(query);
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = keys[i] + cells[i];
    out.write(is_first ? "\n  {" : ",\n  {");
    out.write(joined(cells, ", "));
    out.write("}");
    is_first = false;
  }));
  out.line(is_first ? "]" : "\n]");
  return {};
}

}  // namespace

Result<void> print_rows(SqlQuery& query, QueryWatch& watch, const std::string& format,
                        Output& out) {
  if (query.columns().empty()) return {};
  if (format == "csv") return print_csv(query, watch, out);
  if (format == "json") return print_json(query, watch, out);
  if (format == "markdown") return print_markdown(query, watch, out);
  return print_table(query, watch, out);
}

}  // namespace sonde::cli
