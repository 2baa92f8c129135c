// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/table/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "base/format.h"
#include "base/readable.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kColumnWidth = 12;
constexpr std::size_t kPadding = 4;
constexpr std::size_t kSpacing = 2;

// Lengths count characters. In UTF-8 a character may have several bytes.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if ((static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) continue;
    if (count == 0) break;
    --count;
  }
  return text.substr(0, bytes);
}

std::string_view last_characters(std::string_view text, std::size_t count) {
  const std::size_t all = characters(text);
  return all <= count ? text : text.substr(first_characters(text, all - count).size());
}

std::string memory_text(std::int64_t bytes) {
  constexpr double kKib = 1024;
  const double size = std::abs(static_cast<double>(bytes));
  const auto value = static_cast<double>(bytes);
  if (size >= kKib * kKib * kKib) return format_text("{:.2f} GB", value / (kKib * kKib * kKib));
  if (size >= kKib * kKib) return format_text("{:.2f} MB", value / (kKib * kKib));
  if (size >= kKib) return format_text("{:.2f} KB", value / kKib);
  return format_text("{} B", bytes);
}

std::string share_text(double part, double whole) {
  if (whole == 0) return "NaN";
  return format_text("{:.2f}%", part * 100.0 / whole);
}

// The unit that fits the smallest value.
struct FlopsUnit {
  std::string_view name = "FLOPs";
  double scale = 1;

  explicit FlopsUnit(const std::vector<EventAverage>& rows) {
    constexpr std::array<std::string_view, 6> kNames = {"FLOPs",  "KFLOPs", "MFLOPs",
                                                        "GFLOPs", "TFLOPs", "PFLOPs"};
    std::uint64_t least = 0;
    for (const EventAverage& row : rows) {
      if (row.flops > 0 && (least == 0 || row.flops < least)) least = row.flops;
    }
    if (least == 0) return;
    const double thousands = std::floor(std::log10(static_cast<double>(least)) / 3);
    const auto step = static_cast<std::size_t>(std::clamp(thousands, 0.0, 5.0));
    name = kNames[step];
    scale = std::pow(10.0, -3.0 * static_cast<double>(step));
  }
};

// Annotations cover work that counts itself.
bool counts_as_device_time(const EventAverage& row) {
  return row.device_type != DeviceType::Cpu && !row.is_user_annotation;
}

struct Column {
  std::string header;
  std::size_t width = kColumnWidth;
  bool left = false;
  int importance = 0;  // the least is left out first, if a table must fit
  bool is_hidden = false;
};

// This many characters still distinguish a name from others.
constexpr std::size_t kLeastNameWidth = 24;
constexpr int kAlwaysShown = 100;

// What most readers look for first: self times, then how often, then totals.
int importance_of(std::string_view header, std::string_view device) {
  const auto is_of_device = [&](std::string_view before, std::string_view after) {
    return !device.empty() && header == std::string(before).append(device).append(after);
  };
  if (header == "Name") return kAlwaysShown;
  if (is_of_device("Self ", "")) return 80;
  if (header == "Self CPU") return 79;
  if (header == "# of Calls") return 78;
  if (is_of_device("Self ", " %")) return 77;
  if (header == "Self CPU %") return 76;
  if (is_of_device("", " total")) return 75;
  if (header == "CPU total") return 74;
  if (header == "CPU time avg") return 60;
  if (is_of_device("", " time avg")) return 59;
  if (is_of_device("Self ", " Mem")) return 50;
  if (header == "Self CPU Mem") return 49;
  if (header.starts_with("Total ")) return 48;
  return 10;
}

class Table {
 public:
  Table(const std::vector<EventAverage>& rows, const std::vector<ExtraFigures>& extra,
        const TableFacts& facts, const TableOptions& options)
      : rows_(rows), extra_(extra), options_(options), unit_(rows), memory_(facts.profile_memory) {
    // Adds in the order of the table, as PyTorch does.
    TableOptions every_row = options;
    every_row.row_limit = -1;
    every_row.top_level_events_only = false;
    for (const std::size_t row : table_rows(rows, extra, every_row)) {
      cpu_sum_ += rows[row].self_cpu_us;
      if (counts_as_device_time(rows[row])) device_sum_ += rows[row].self_device_us;
    }
    for (const EventAverage& row : rows) {
      device_time_ = device_time_ || row.self_device_us > 0;
      device_memory_ = device_memory_ || row.self_device_memory_bytes > 0;
      overloads_ = overloads_ || !row.overload_name.empty();
      shapes_ = shapes_ || has_shapes(row);
      arguments_ = arguments_ || !row.arguments.empty();
      stacks_ = stacks_ || !row.stack.empty();
      flops_ = flops_ || row.flops > 0;
    }
    for (const char c : facts.use_device) {
      device_ += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    if (device_.empty()) device_time_ = false;
    device_memory_ = device_memory_ && memory_ && !device_.empty();
    flops_ = flops_ && facts.with_flops;
    add_columns();
  }

  std::string text() {
    const std::size_t line = line_length();
    if (!options_.header.empty()) {
      out_ += std::string(line, '=') + '\n' + options_.header + '\n';
    }
    if (options_.top_level_events_only) {
      out_ += std::string(line, '=') + '\n';
      out_ += "This report only display top-level ops statistics\n";
    }
    std::vector<std::string> headers;
    headers.reserve(columns_.size());
    for (const Column& column : columns_) headers.push_back(column.header);
    add_separator();
    add_line(headers);
    add_separator();
    for (const std::size_t row : table_rows(rows_, extra_, options_)) add_row(row);
    add_separator();
    out_ += "Self CPU time total: " + time(cpu_sum_) + '\n';
    if (device_time_) out_ += "Self " + device_ + " time total: " + time(device_sum_) + '\n';
    if (options_.fit_width > 0) add_remarks();
    return std::move(out_);
  }

 private:
  static bool has_shapes(const EventAverage& row) {
    return !row.input_shapes.empty() && row.input_shapes != "[]";
  }
  std::string time(double us) const { return time_text(us, options_.time_unit); }
  std::string time(Nanos ns) const { return time(static_cast<double>(ns) / 1000.0); }

  // The longest text plus some room, up to the limit in the options.
  template <typename Length>
  std::size_t width_of(const Length& length, std::optional<int> limit) const {
    std::size_t longest = 0;
    for (const EventAverage& row : rows_) longest = std::max(longest, length(row));
    longest += kPadding;
    return limit ? std::min(longest, static_cast<std::size_t>(std::max(*limit, 0))) : longest;
  }

  void add_columns() {
    const std::size_t name_width =
        width_of([](const EventAverage& row) { return characters(readable_line(row.key)); },
                 options_.max_name_column_width);
    add("Name", name_width);
    if (overloads_) add("Overload Name", name_width);
    for (const char* header :
         {"Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"}) {
      add(header);
    }
    if (device_time_) {
      add("Self " + device_);
      add("Self " + device_ + " %");
      add(device_ + " total");
      add(device_ + " time avg");
    }
    if (memory_) {
      add("CPU Mem");
      add("Self CPU Mem");
    }
    if (device_memory_) {
      add(device_ + " Mem");
      add("Self " + device_ + " Mem");
    }
    add("# of Calls");
    if (shapes_) {
      add("Input Shapes",
          width_of(
              [](const EventAverage& row) { return characters(readable_line(row.input_shapes)); },
              options_.max_shapes_column_width));
    }
    if (arguments_) {
      add("Arguments",
          width_of([](const EventAverage& row) { return characters(readable_line(row.arguments)); },
                   options_.max_shapes_column_width));
    }
    if (stacks_) {
      add("Source Location", width_of(
                                 [](const EventAverage& row) {
                                   std::size_t longest = 0;
                                   for (const std::string& frame : row.stack) {
                                     longest = std::max(longest, characters(readable_line(frame)));
                                   }
                                   return longest;
                                 },
                                 options_.max_src_column_width));
      columns_.back().left = true;
      source_column_ = columns_.size() - 1;
    }
    if (flops_) add("Total " + std::string(unit_.name));
    for (const std::string& name : options_.columns) add(name);
    fit();
  }

  void add(std::string header, std::size_t width = kColumnWidth) {
    const bool is_asked_for = std::find(options_.columns.begin(), options_.columns.end(), header) !=
                              options_.columns.end();
    const int importance = is_asked_for ? kAlwaysShown - 1 : importance_of(header, device_);
    columns_.push_back({std::move(header), width, false, importance, false});
  }

  std::size_t line_length() const {
    std::size_t length = 0;
    for (const Column& column : columns_)
      if (!column.is_hidden) length += column.width + kSpacing;
    return length - kSpacing;
  }

  // Names give way first, then whole columns.
  void fit() {
    if (options_.fit_width == 0) return;
    const std::size_t whole = columns_[0].width;
    const std::size_t room = options_.fit_width - std::min(options_.fit_width, kSpacing);
    const auto shrink_name = [&] {
      columns_[0].width = whole;
      const std::size_t over = line_length() - std::min(line_length(), room);
      const std::size_t least = std::min(whole, kLeastNameWidth);
      columns_[0].width = std::max(least, whole - std::min(whole, over));
      return line_length() <= room;
    };
    while (!shrink_name()) {
      Column* least = nullptr;
      for (Column& column : columns_) {
        if (column.is_hidden || column.importance == kAlwaysShown) continue;
        if (least == nullptr || column.importance <= least->importance) least = &column;
      }
      if (least == nullptr) return;
      least->is_hidden = true;
    }
  }

  void add_remarks() {
    add_remark(options_.sort_by.empty() ? "Not sorted: in the order of the first call."
                                        : "Sorted by " + options_.sort_by + ", largest first.");
    std::string hidden;
    for (const Column& column : columns_)
      if (column.is_hidden) hidden += (hidden.empty() ? "" : ", ") + column.header;
    if (!hidden.empty()) add_remark("Not enough room for: " + hidden + ".");
  }

  // Broken at spaces where it does not fit.
  void add_remark(std::string_view text) {
    const std::size_t room = std::max<std::size_t>(options_.fit_width, 1);
    while (text.size() > room) {
      const std::size_t end = std::min(text.rfind(' ', room), text.find(' ', room));
      if (end == std::string_view::npos) break;
      out_ += std::string(text.substr(0, end)) + '\n';
      text.remove_prefix(end + 1);
    }
    out_ += std::string(text) + '\n';
  }

  void add_separator() {
    for (const Column& column : columns_) {
      if (column.is_hidden) continue;
      out_.append(column.width, '-');
      out_.append(kSpacing, ' ');
    }
    out_ += '\n';
  }

  void add_line(const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].is_hidden) continue;
      const std::size_t length = characters(cells[i]);
      const std::size_t fill = columns_[i].width > length ? columns_[i].width - length : 0;
      if (!columns_[i].left) out_.append(fill, ' ');
      out_ += cells[i];
      if (columns_[i].left) out_.append(fill, ' ');
      out_.append(kSpacing, ' ');
    }
    out_ += '\n';
  }

  std::string cut_name(const std::string& name) const {
    if (!options_.max_name_column_width && options_.fit_width == 0) return name;
    const int given = options_.max_name_column_width.value_or(std::numeric_limits<int>::max());
    auto limit = static_cast<std::size_t>(std::max(given, 3));
    if (options_.fit_width > 0) limit = std::min(limit, columns_[0].width);
    if (characters(name) < limit - 3) return name;
    return std::string(first_characters(name, limit - 3)) + "...";
  }

  // The end of a path is more useful than its beginning.
  std::string cut_source(const std::string& frame) const {
    const std::size_t width = columns_[source_column_].width;
    if (characters(frame) <= width) return frame;
    const std::string_view end = last_characters(frame, width);
    if (width <= 3) return std::string(end);
    return "..." + std::string(last_characters(end, width - 3));
  }

  void add_row(std::size_t index) {
    const EventAverage& row = rows_[index];
    std::vector<std::string> cells;
    cells.push_back(cut_name(readable_line(row.key)));
    if (overloads_) cells.push_back(cut_name(readable_line(row.overload_name)));
    cells.push_back(share_text(row.self_cpu_us, cpu_sum_));
    cells.push_back(time(row.self_cpu_us));
    cells.push_back(row.is_async ? "0" : share_text(row.cpu_total_us, cpu_sum_));
    cells.push_back(time(row.cpu_total_us));
    cells.push_back(average(row.cpu_total_us, row.count));
    if (device_time_) {
      cells.push_back(time(row.self_device_us));
      cells.push_back(share_text(row.self_device_us, device_sum_));
      cells.push_back(time(row.device_total_us));
      cells.push_back(average(row.device_total_us, row.count));
    }
    if (memory_) {
      cells.push_back(memory_text(row.cpu_memory_bytes));
      cells.push_back(memory_text(row.self_cpu_memory_bytes));
    }
    if (device_memory_) {
      cells.push_back(memory_text(row.device_memory_bytes));
      cells.push_back(memory_text(row.self_device_memory_bytes));
    }
    cells.push_back(std::to_string(row.count));
    if (shapes_) {
      const std::size_t width = columns_[cells.size()].width;
      cells.emplace_back(first_characters(readable_line(row.input_shapes), width));
    }
    if (arguments_) {
      const std::size_t width = columns_[cells.size()].width;
      cells.emplace_back(first_characters(readable_line(row.arguments), width));
    }
    if (stacks_)
      cells.push_back(row.stack.empty() ? "" : cut_source(readable_line(row.stack.front())));
    if (flops_) {
      cells.push_back(row.flops == 0
                          ? "--"
                          : format_text("{:8.3f}", static_cast<double>(row.flops) * unit_.scale));
    }
    for (const std::string& name : options_.columns) cells.push_back(extra_cell(name, index));
    add_line(cells);
    if (stacks_ && !columns_[source_column_].is_hidden) add_source_lines(row);
  }

  void add_source_lines(const EventAverage& row) {
    std::vector<std::string> cells(columns_.size());
    for (std::size_t i = 1; i < row.stack.size(); ++i) {
      cells[source_column_] = cut_source(readable_line(row.stack[i]));
      add_line(cells);
    }
    cells[source_column_].clear();
    add_line(cells);
  }

  std::string average(double total_us, std::uint64_t count) const {
    return time(count == 0 ? 0.0 : total_us / static_cast<double>(count));
  }

  std::string extra_cell(const std::string& name, std::size_t index) const {
    const ExtraFigures& figures = extra_[index];
    if (name == "p50") return time(figures.p50_ns);
    if (name == "p95") return time(figures.p95_ns);
    if (name == "max") return time(figures.max_ns);
    if (name == "launches") return std::to_string(figures.launches);
    if (name == "device_union") return time(figures.device_union_ns);
    return figures.flops_per_second > 0 ? format_text("{:.3e}", figures.flops_per_second) : "--";
  }

  const std::vector<EventAverage>& rows_;
  const std::vector<ExtraFigures>& extra_;
  const TableOptions& options_;
  FlopsUnit unit_;
  std::string device_;
  double cpu_sum_ = 0;
  double device_sum_ = 0;
  bool memory_;
  bool device_time_ = false;
  bool device_memory_ = false;
  bool overloads_ = false;
  bool shapes_ = false;
  bool arguments_ = false;
  bool stacks_ = false;
  bool flops_ = false;
  std::vector<Column> columns_;
  std::size_t source_column_ = 0;
  std::string out_;
};

template <typename Names>
std::string list_text(const Names& names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

template <typename Names>
Failure unknown(const std::string& what, const std::string& name, const Names& known) {
  return {ErrorCode::Invalid, what + " \"" + name + "\"; there are: " + list_text(known)};
}

constexpr std::string_view kTimeUnits[] = {"s", "ms", "us"};

}  // namespace

Result<void> check_table_options(const TableOptions& options) {
  if (!options.sort_by.empty() && !is_sort_key(options.sort_by))
    return unknown("unknown sort key", options.sort_by, sort_keys());
  for (const std::string& column : options.columns) {
    if (!is_extra_column(column)) return unknown("unknown column", column, extra_columns());
  }
  const std::string& unit = options.time_unit;
  if (!unit.empty() &&
      std::find(std::begin(kTimeUnits), std::end(kTimeUnits), unit) == std::end(kTimeUnits))
    return unknown("unknown unit of time", unit, kTimeUnits);
  return {};
}

std::string time_text(double us, std::string_view unit) {
  if (unit == "s" || (unit != "ms" && unit != "us" && us >= 1e6)) {
    return format_text("{:.3f}s", us / 1e6);
  }
  if (unit == "ms" || (unit != "us" && us >= 1e3)) return format_text("{:.3f}ms", us / 1e3);
  return format_text("{:.3f}us", us);
}

TableFacts table_facts(const EventData& data) {
  return {data.use_device, data.profile_memory, data.with_flops};
}

std::string table_text(const std::vector<EventAverage>& rows,
                       const std::vector<ExtraFigures>& extra, const TableFacts& facts,
                       const TableOptions& options) {
  if (rows.empty()) return {};
  return Table(rows, extra, facts, options).text();
}

}  // namespace sonde::detail
