// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The keys that a table can be sorted by, and the rows it shows.

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "analyse/table/text.h"

namespace sonde {
namespace detail {
namespace {

double per_call(double total, std::uint64_t count) {
  return count == 0 ? 0.0 : total / static_cast<double>(count);
}

struct SortKey {
  std::string_view name;
  double (*value)(const EventAverage& row);
};

constexpr std::array<SortKey, 12> kSortKeys = {{
    {"cpu_time", [](const EventAverage& r) { return per_call(r.cpu_total_us, r.count); }},
    {"cpu_time_total", [](const EventAverage& r) { return r.cpu_total_us; }},
    {"self_cpu_time_total", [](const EventAverage& r) { return r.self_cpu_us; }},
    {"device_time", [](const EventAverage& r) { return per_call(r.device_total_us, r.count); }},
    {"device_time_total", [](const EventAverage& r) { return r.device_total_us; }},
    {"self_device_time_total", [](const EventAverage& r) { return r.self_device_us; }},
    {"cpu_memory_usage",
     [](const EventAverage& r) { return static_cast<double>(r.cpu_memory_bytes); }},
    {"self_cpu_memory_usage",
     [](const EventAverage& r) { return static_cast<double>(r.self_cpu_memory_bytes); }},
    {"device_memory_usage",
     [](const EventAverage& r) { return static_cast<double>(r.device_memory_bytes); }},
    {"self_device_memory_usage",
     [](const EventAverage& r) { return static_cast<double>(r.self_device_memory_bytes); }},
    {"count", [](const EventAverage& r) { return static_cast<double>(r.count); }},
    {"flops", [](const EventAverage& r) { return static_cast<double>(r.flops); }},
}};

struct ExtraSortKey {
  std::string_view name;
  double (*value)(const ExtraFigures& figures);
};

constexpr std::array<ExtraSortKey, 6> kExtraSortKeys = {{
    {"p50", [](const ExtraFigures& f) { return static_cast<double>(f.p50_ns); }},
    {"p95", [](const ExtraFigures& f) { return static_cast<double>(f.p95_ns); }},
    {"max", [](const ExtraFigures& f) { return static_cast<double>(f.max_ns); }},
    {"launches", [](const ExtraFigures& f) { return static_cast<double>(f.launches); }},
    {"device_union", [](const ExtraFigures& f) { return static_cast<double>(f.device_union_ns); }},
    {"flops_per_second", [](const ExtraFigures& f) { return f.flops_per_second; }},
}};

// Old spellings name the device.
std::string new_spelling(std::string_view sort_by) {
  std::string key(sort_by);
  for (const std::string_view device : {"cuda", "xpu", "privateuse1", "hpu", "mtia"}) {
    for (std::size_t at = key.find(device); at != std::string::npos; at = key.find(device)) {
      key.replace(at, device.size(), "device");
    }
  }
  return key;
}

template <typename Keys>
auto find_key(const Keys& keys, std::string_view name) {
  return std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.name == name; });
}

// One value per row to sort by; empty if there is no such key.
std::vector<double> sort_values(const std::vector<EventAverage>& rows,
                                const std::vector<ExtraFigures>& extra,
                                const std::string& sort_by) {
  const std::string name = new_spelling(sort_by);
  std::vector<double> values;
  values.reserve(rows.size());
  if (const auto* key = find_key(kSortKeys, name); key != kSortKeys.end()) {
    for (const EventAverage& row : rows) values.push_back(key->value(row));
  } else if (const auto* other = find_key(kExtraSortKeys, name); other != kExtraSortKeys.end()) {
    for (const ExtraFigures& figures : extra) values.push_back(other->value(figures));
  }
  return values;
}

}  // namespace

bool needs_extra_figures(const TableOptions& options) {
  return !options.columns.empty() ||
         find_key(kExtraSortKeys, new_spelling(options.sort_by)) != kExtraSortKeys.end();
}

std::vector<std::size_t> table_rows(const std::vector<EventAverage>& rows,
                                    const std::vector<ExtraFigures>& extra,
                                    const TableOptions& options) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!options.sort_by.empty()) {
    const std::vector<double> values = sort_values(rows, extra, options.sort_by);
    if (values.size() == rows.size()) {
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    }
  }
  if (options.top_level_events_only) {
    std::erase_if(order, [&](std::size_t row) { return rows[row].has_parent; });
  }
  if (options.row_limit >= 0 && order.size() > static_cast<std::size_t>(options.row_limit)) {
    order.resize(static_cast<std::size_t>(options.row_limit));
  }
  return order;
}

}  // namespace detail

const std::vector<std::string_view>& sort_keys() {
  static const std::vector<std::string_view> keys = [] {
    std::vector<std::string_view> names;
    names.reserve(detail::kSortKeys.size() + detail::kExtraSortKeys.size());
    for (const auto& key : detail::kSortKeys) names.push_back(key.name);
    for (const auto& key : detail::kExtraSortKeys) names.push_back(key.name);
    return names;
  }();
  return keys;
}

bool is_sort_key(std::string_view sort_by) {
  const std::string name = detail::new_spelling(sort_by);
  const auto& keys = sort_keys();
  return std::find(keys.begin(), keys.end(), name) != keys.end();
}

const std::vector<std::string_view>& extra_columns() {
  static const std::vector<std::string_view> columns = [] {
    std::vector<std::string_view> names;
    names.reserve(detail::kExtraSortKeys.size());
    for (const auto& key : detail::kExtraSortKeys) names.push_back(key.name);
    return names;
  }();
  return columns;
}

bool is_extra_column(std::string_view name) {
  const auto& columns = extra_columns();
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

}  // namespace sonde
