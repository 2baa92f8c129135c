// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How to print PyTorch's operator table: the arguments of its `table()`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct TableOptions {
  // One of sort_keys(). "cuda", "xpu", "hpu", "mtia" and "privateuse1" in it mean "device". Empty:
  // not sorted.
  std::string sort_by = "";
  int row_limit = 100;  // negative: all
  // Without a value: no limit.
  std::optional<int> max_src_column_width = 75;
  std::optional<int> max_name_column_width = 55;
  std::optional<int> max_shapes_column_width = 80;
  std::string header = "";
  bool top_level_events_only = false;
  // "s", "ms" or "us" for every time. Empty: a unit that fits each value.
  std::string time_unit = "";
  // Further columns after PyTorch's own; extra_columns() has their names.
  std::vector<std::string> columns = {};
  // Leave out columns, the least important ones first, until a line has at most this many
  // characters, and say below the table how it is sorted. 0: all columns, as PyTorch prints them.
  std::size_t fit_width = 0;
};

// The keys that a table can be sorted by.
const std::vector<std::string_view>& sort_keys();
// Whether `sort_by` is a sort key, in the old or the new spelling.
bool is_sort_key(std::string_view sort_by);

// The names that TableOptions::columns may contain. docs/metrics.md defines them.
const std::vector<std::string_view>& extra_columns();
bool is_extra_column(std::string_view name);

}  // namespace sonde
