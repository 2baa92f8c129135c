// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs as text, one line a figure:
//
//   sonde-baseline 1
//   run <TAB> r1.sonde <TAB> r2.sonde
//   step_median_ns <TAB> 1200000 <TAB> 1201000
//   exact kernels <TAB> 42 <TAB> 42
//   item device <TAB> name <TAB> owner <TAB> place <TAB> median mean count <TAB> median mean count
//
// If the runs are grouped by shapes or modules, there is a line "grouped_by", and items have both
// before the place.

#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "analyse/compare/run_item_key.h"
#include "base/format.h"
#include "sonde/analyse/run_summary.h"

namespace sonde {
namespace {

constexpr std::string_view kFirstLine = "sonde-baseline 1";
constexpr std::size_t kMostRuns = 10'000;

using Time = double RunSummary::*;
struct NamedTime {
  std::string_view name;
  Time time;
};
constexpr NamedTime kTimes[] = {
    {"step_median_ns", &RunSummary::step_median_ns},
    {"step_mean_ns", &RunSummary::step_mean_ns},
    {"device_median_ns", &RunSummary::device_median_ns},
    {"device_mean_ns", &RunSummary::device_mean_ns},
};

// Tabs and line breaks separate fields; in names they become spaces.
std::string plain(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return result;
}

std::string rounded(double value) {
  return format_text("{:.0f}", value);
}

template <typename Value>
void add_line(std::string& out, const std::vector<RunSummary>& runs, const std::string& name,
              Value&& value) {
  out += name;
  for (const RunSummary& run : runs) out += '\t' + value(run);
  out += '\n';
}

std::string devices_text(const RunSummary& run) {
  std::string text;
  for (const std::string& device : run.devices) text += (text.empty() ? "" : "; ") + plain(device);
  return text;
}

std::string grouping_text(const RunSummary& run) {
  const auto [by_shapes, by_module] = run.grouping;
  return std::string(by_shapes ? "shapes" : "") + (by_shapes && by_module ? "," : "") +
         (by_module ? "module" : "");
}

bool is_grouped(const RunSummary& run) {
  return run.grouping != RunGrouping{};
}

void add_items(std::string& out, const std::vector<RunSummary>& runs) {
  std::map<detail::RunItemKey, std::vector<const RunItem*>> items;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const RunItem& item : runs[i].items) {
      auto& row = items[{item.is_device, plain(item.name), plain(item.owner), plain(item.shapes),
                         plain(item.module)}];
      row.resize(runs.size());
      row[i] = &item;
    }
  }
  for (const auto& [key, row] : items) {
    std::string place;
    for (const RunItem* const item : row)
      if (item != nullptr && place.empty()) place = plain(item->place);
    out += std::string("item ") + (key.is_device ? "device" : "host") + '\t' + key.name + '\t' +
           key.owner + '\t';
    if (is_grouped(runs.front())) out += key.shapes + '\t' + key.module + '\t';
    out += place;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const RunItem* const item = i < row.size() ? row[i] : nullptr;
      out += '\t';
      if (item != nullptr)
        out += rounded(item->median_ns) + ' ' + rounded(item->mean_ns) + ' ' +
               format_text("{:g}", item->count);
    }
    out += '\n';
  }
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t tab = line.find('\t');
    cells.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number) || number < 0) return false;
  }
  return error == std::errc() && end == text.data() + text.size();
}

bool read_item(std::string_view text, RunItem& item) {
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return false;
  return read_number(text.substr(0, first), item.median_ns) &&
         read_number(text.substr(first + 1, second - first - 1), item.mean_ns) &&
         read_number(text.substr(second + 1), item.count);
}

class BaselineReader {
 public:
  Result<std::vector<RunSummary>> read(std::string_view text) {
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      const bool is_fine = number == 1 ? line == kFirstLine : line.empty() || read_line(line);
      if (!is_fine)
        return Failure(ErrorCode::Corrupt,
                       format_text("line {} is not of a baseline; record it again with `sonde diff "
                                   "--record`",
                                   number));
    }
    if (runs_.empty()) return Failure(ErrorCode::Corrupt, "the baseline has no runs");
    return std::move(runs_);
  }

 private:
  bool read_line(std::string_view line) {
    const std::vector<std::string_view> cells = cells_of(line);
    const std::string_view name = cells[0];
    if (name == "run") return begin(cells);
    if (runs_.empty()) return false;
    if (name.starts_with("item ")) return add_item(cells);
    if (cells.size() != runs_.size() + 1) return false;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (!read_cell(name, cells[i + 1], runs_[i])) return false;
    return true;
  }
  bool begin(const std::vector<std::string_view>& cells) {
    if (!runs_.empty() || cells.size() < 2 || cells.size() > kMostRuns) return false;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      runs_.emplace_back();
      runs_.back().name = cells[i];
    }
    return true;
  }
  static bool read_cell(std::string_view name, std::string_view text, RunSummary& run) {
    for (const NamedTime& known : kTimes)
      if (name == known.name) return read_number(text, run.*known.time);
    if (name == "program") run.program = text;
    if (name == "devices" && !text.empty()) run.devices = {std::string(text)};
    if (name == "started_ns") return read_number(text, run.started_ns);
    if (name == "ranks") return read_number(text, run.ranks);
    if (name == "steps") return read_number(text, run.steps);
    if (name == "grouped_by") {
      const auto has = [&](std::string_view word) { return text.find(word) != text.npos; };
      run.grouping = {has("shapes"), has("module")};
    }
    if (name == "has_steps") run.has_steps = text == "1";
    if (name == "is_incomplete") run.is_incomplete = text == "1";
    constexpr std::string_view kExact = "exact ";
    if (!name.starts_with(kExact)) return true;  // of a later version
    return text.empty() || read_number(text, run.exact[std::string(name.substr(kExact.size()))]);
  }
  bool add_item(const std::vector<std::string_view>& cells) {
    const bool with_groups = is_grouped(runs_.front());
    const std::size_t before = with_groups ? 6 : 4;
    if (cells.size() != runs_.size() + before) return false;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (cells[i + before].empty()) continue;
      RunItem item;
      item.is_device = cells[0] == "item device";
      item.name = cells[1];
      item.owner = cells[2];
      if (with_groups) {
        item.shapes = cells[3];
        item.module = cells[4];
      }
      item.place = cells[before - 1];
      if (!read_item(cells[i + before], item)) return false;
      runs_[i].items.push_back(std::move(item));
    }
    return true;
  }

  std::vector<RunSummary> runs_;
};

}  // namespace

std::string baseline_text(const std::vector<RunSummary>& runs) {
  std::string out = std::string(kFirstLine) + '\n';
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  add_line(out, runs, "run", [](const RunSummary& run) { return plain(run.name); });
  add_line(out, runs, "program", [](const RunSummary& run) { return plain(run.program); });
  add_line(out, runs, "devices", devices_text);
  add_line(out, runs, "started_ns",
           [](const RunSummary& run) { return std::to_string(run.started_ns); });
  add_line(out, runs, "ranks", [](const RunSummary& run) { return std::to_string(run.ranks); });
  add_line(out, runs, "steps", [](const RunSummary& run) { return std::to_string(run.steps); });
  if (is_grouped(runs.front())) add_line(out, runs, "grouped_by", grouping_text);
  add_line(out, runs, "has_steps", [&](const RunSummary& run) { return flag(run.has_steps); });
  add_line(out, runs, "is_incomplete",
           [&](const RunSummary& run) { return flag(run.is_incomplete); });
  for (const NamedTime& known : kTimes)
    add_line(out, runs, std::string(known.name),
             [&](const RunSummary& run) { return rounded(run.*known.time); });
  std::set<std::string> names;
  for (const RunSummary& run : runs)
    for (const auto& [name, value] : run.exact) names.insert(name);
  for (const std::string& name : names)
    add_line(out, runs, "exact " + name, [&](const RunSummary& run) {
      const auto found = run.exact.find(name);
      return found == run.exact.end() ? std::string() : std::to_string(found->second);
    });
  add_items(out, runs);
  return out;
}

Result<std::vector<RunSummary>> parse_baseline(std::string_view text) {
  return BaselineReader().read(text);
}

}  // namespace sonde
