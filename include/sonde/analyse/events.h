// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// PyTorch's list of events: what `torch.profiler` gives as `prof.events()`, from any trace.
//
//   const EventList events = function_events(trace);
//   for (const FunctionEvent event : events) {
//     std::cout << event.name() << " " << event.self_cpu_us() << "\n";
//   }
//   std::cout << *events.key_averages().table({.sort_by = "self_cpu_time_total", .row_limit = 10});
//
// Events are ordered by start, longer ones first. Totals are microseconds, added up in PyTorch's
// order and with its arithmetic, so that they round in the same way. docs/compatibility.md lists
// where they differ on purpose.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/analyse/averages.h"
#include "sonde/analyse/table.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// What a line of collapsed stacks is: a distinct stack with its sum, or an event, as PyTorch
// writes.
enum class StackLines : std::uint8_t { Summed, EachEvent };

class EventList;
namespace detail {
struct EventData;
}  // namespace detail

// One event of a list: a handle that is cheap to copy. It and the views it returns are valid as
// long as some copy of the list lives.
class FunctionEvent {
 public:
  std::size_t index() const noexcept { return index_; }
  // Joins operators and device work: the external id of an operator, or the correlation of a call.
  std::int64_t id() const noexcept;
  // All steps are named `ProfilerStep*`.
  std::string_view name() const noexcept;
  std::string_view overload_name() const noexcept;
  // The row it was made from; invalid for memory events without a span.
  SpanId span() const noexcept;

  // Since EventList::start_ns().
  Nanos start_ns() const noexcept;
  Nanos end_ns() const noexcept;

  // PyTorch's number of the thread, from 1, if the trace has it.
  std::int64_t thread() const noexcept;
  std::int64_t forward_thread() const noexcept;
  std::int64_t sequence_number() const noexcept;  // -1: none
  RecordScope scope() const noexcept;             // Function if it is not an operator
  DeviceType device_type() const noexcept;
  std::int32_t device_index() const noexcept;  // -1 on the host
  bool is_async() const noexcept;
  bool is_user_annotation() const noexcept;

  bool has_parent() const noexcept;
  FunctionEvent parent() const noexcept;  // only if has_parent()
  std::vector<FunctionEvent> children() const;

  double cpu_total_us() const noexcept;
  double self_cpu_us() const noexcept;
  double device_total_us() const noexcept;
  double self_device_us() const noexcept;
  std::int64_t cpu_memory_bytes() const noexcept;
  std::int64_t self_cpu_memory_bytes() const noexcept;
  std::int64_t device_memory_bytes() const noexcept;
  std::int64_t self_device_memory_bytes() const noexcept;
  std::uint64_t flops() const noexcept;

  // Device work that this event launched, as indexes into the list.
  std::size_t kernel_count() const noexcept;
  FunctionEvent kernel(std::size_t i) const noexcept;

  // "[[64, 3], []]": the sizes of its inputs, [] for an input that is not a tensor.
  std::string input_shapes() const;
  // "{"batch": 3, "path": "a.bin"}": the arguments of a scope or range, or what another tool's file
  // says about it in addition; empty if there are none.
  std::string arguments() const;
  // Innermost first, as `file(line): function`.
  std::vector<std::string> stack() const;

 private:
  friend class EventList;
  FunctionEvent(const detail::EventData* data, std::size_t index) : data_(data), index_(index) {}

  const detail::EventData* data_;
  std::size_t index_;
};

// Python's format: "<FunctionEvent id=2 name=aten::mm …>", with the list's use_device().
std::string to_string(const FunctionEvent& event, std::string_view use_device);

// The weight of a stack in export_stacks().
enum class StackMetric : std::uint8_t { SelfCpuTime, SelfDeviceTime };
// Takes PyTorch's names: self_cpu_time_total, self_device_time_total and its older spellings.
Result<StackMetric> parse_stack_metric(std::string_view name);

// Copies share their data. Events and views of a temporary list would dangle and do not compile:
// write `const EventList events = prof.events();` first. A loop over a temporary is fine:
// `for (const FunctionEvent event : prof.events())`.
class EventList {
 public:
  EventList();

  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }
  FunctionEvent operator[](std::size_t i) const& noexcept { return {data_.get(), i}; }
  FunctionEvent operator[](std::size_t i) const&& = delete;

  class Iterator {
   public:
    FunctionEvent operator*() const noexcept { return {data_, at_}; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    friend bool operator==(Iterator a, Iterator b) noexcept { return a.at_ == b.at_; }
    friend bool operator!=(Iterator a, Iterator b) noexcept { return a.at_ != b.at_; }

   private:
    friend class EventList;
    Iterator(const detail::EventData* data, std::size_t at) : data_(data), at_(at) {}

    const detail::EventData* data_;
    std::size_t at_;
  };
  Iterator begin() const& noexcept { return {data_.get(), 0}; }
  Iterator end() const& noexcept { return {data_.get(), size()}; }
  Iterator begin() const&& = delete;
  Iterator end() const&& = delete;

  const Trace& trace() const& noexcept;
  const Trace& trace() const&& = delete;
  // When recording began. Times of events count from here.
  Nanos start_ns() const noexcept;
  // "cuda", "xpu", …; empty if no device was recorded.
  std::string_view use_device() const& noexcept;
  std::string_view use_device() const&& = delete;
  // What was requested when recording.
  bool with_stack() const noexcept;
  bool profile_memory() const noexcept;
  bool with_flops() const noexcept;

  double self_cpu_time_total_us() const noexcept;

  KeyAverages key_averages(const GroupBy& group_by = {}) const;
  EventAverage total_average() const;
  // One row per event. An error if a sort key, a column or the unit of time is unknown.
  Result<std::string> table(const TableOptions& options = {}) const;
  // Collapsed stacks, one line per distinct stack: frames from the outermost, separated by `;`,
  // then microseconds. flamegraph.pl and speedscope read this format.
  std::string collapsed_stacks(StackMetric metric, StackLines lines = StackLines::Summed) const;

 private:
  friend EventList function_events(const Trace& trace);
  std::shared_ptr<const detail::EventData> data_;
};

EventList function_events(const Trace& trace);

}  // namespace sonde
