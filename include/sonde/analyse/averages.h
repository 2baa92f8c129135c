// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// PyTorch's `key_averages()`: events with the same name, added up.
//
//   const GroupBy by{.group_by_input_shape = true};
//   const KeyAverages averages = function_events(trace).key_averages(by);
//   for (const EventAverage& row : averages) std::cout << row.key << " " << row.count << "\n";
//   std::cout << *averages.table({.sort_by = "cpu_time_total"});

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/table.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// Which events share a row, besides those with the same name and device. Annotations have rows of
// their own.
struct GroupBy {
  bool group_by_input_shape = false;
  int group_by_stack_n = 0;  // how many innermost frames count
  bool group_by_overload_name = false;
};

// Figures that PyTorch does not have; docs/metrics.md defines them.
struct ExtraFigures {
  Nanos p50_ns = 0;  // of the durations of the row's events
  Nanos p95_ns = 0;
  Nanos max_ns = 0;
  std::uint64_t launches = 0;   // kernels, copies and fills below the row's events, each once
  Nanos device_union_ns = 0;    // time in which any of them ran
  double flops_per_second = 0;  // FLOPs over that time, or over host time if there is none
};

struct EventAverage {
  std::string key;
  std::string overload_name;
  std::string input_shapes;        // "[[2, 3], []]"; empty unless grouped by it
  std::vector<std::string> stack;  // innermost first; as many as grouped by
  std::string arguments;           // of a single user annotation, else empty
  DeviceType device_type = DeviceType::Cpu;
  RecordScope scope = RecordScope::Function;
  bool is_async = false;  // the first event's
  bool is_user_annotation = false;
  bool has_parent = false;  // the first event's
  std::uint64_t count = 0;
  double cpu_total_us = 0;
  double self_cpu_us = 0;
  double device_total_us = 0;
  double self_device_us = 0;
  std::int64_t cpu_memory_bytes = 0;
  std::int64_t self_cpu_memory_bytes = 0;
  std::int64_t device_memory_bytes = 0;
  std::int64_t self_device_memory_bytes = 0;
  std::uint64_t flops = 0;
};

// Python's format: "<FunctionEventAvg key=aten::mm …>".
std::string to_string(const EventAverage& row, std::string_view use_device = "cuda");

// What determines which columns a table has.
struct TableFacts {
  std::string use_device;  // "cuda"; empty: none
  bool profile_memory = false;
  bool with_flops = false;
};

// PyTorch's table of any rows. Columns and sort keys of Sonde's own need the events behind the rows
// and are an error here.
Result<std::string> table_of(const std::vector<EventAverage>& rows, const TableFacts& facts,
                             const TableOptions& options = {});

namespace detail {
struct EventData;
}  // namespace detail

// Rows in the order in which their first events began. Copies share their data. Rows of a
// temporary table would dangle and do not compile, except in a loop over the table itself.
class KeyAverages {
 public:
  KeyAverages();

  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  const EventAverage& operator[](std::size_t row) const& noexcept;
  const EventAverage* begin() const& noexcept;
  const EventAverage* end() const& noexcept;
  const EventAverage& operator[](std::size_t row) const&& = delete;
  const EventAverage* begin() const&& = delete;
  const EventAverage* end() const&& = delete;

  // An error if a sort key, a column or the unit of time is unknown.
  Result<std::string> table(const TableOptions& options = {}) const;
  // The rows that table() would show, in its order.
  Result<std::vector<std::size_t>> rows(const TableOptions& options) const;
  // One entry per row, computed by this call.
  std::vector<ExtraFigures> extra_figures() const;

 private:
  friend class EventList;
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace sonde
