// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The data of an EventList: one entry per event in each column, in the order of the list.

#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/operators/flops.h"
#include "base/big_vector.h"
#include "base/pieces.h"
#include "sonde/trace.h"

namespace sonde::detail {

constexpr std::uint32_t kNoEvent = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kAllFrames = std::numeric_limits<std::size_t>::max();

using EventFlag = std::uint8_t;
constexpr EventFlag kEventAsync = 1;       // does not nest
constexpr EventFlag kEventAnnotation = 2;  // a user marked it
constexpr EventFlag kEventDevice = 4;      // ran on a device
constexpr EventFlag kEventMemory = 8;  // a memory record outside all events; `row` is an allocation

// An operator that a gradient may belong to.
struct ForwardOp {
  std::int64_t sequence_number;
  std::int64_t thread;  // PyTorch's number
  std::uint32_t event;
};

// A row of the extras that belongs to a span.
struct ExtraOfSpan {
  std::uint32_t span;
  std::uint32_t extra;
};

// A name by number: a string of the trace, or a name that PyTorch makes up.
using NameNumber = std::uint32_t;
enum class MadeUpName : std::uint8_t { ProfilerStep, Memory, OutOfMemory };

// A column that takes no memory while all its values are 0, as those of devices are in a program
// without any.
template <typename T>
class SparseColumn {
 public:
  T operator[](std::size_t i) const noexcept { return values_.empty() ? T{} : values_[i]; }
  bool empty() const noexcept { return count_ == 0; }
  void set(std::size_t i, T value) {
    if (values_.empty()) {
      if (value == T{}) return;
      values_.assign(count_, T{});
    }
    values_[i] = value;
  }
  void add(std::size_t i, T value) {
    if (value != T{}) set(i, (*this)[i] + value);
  }
  void push_back(T value) {
    ++count_;
    if (!values_.empty()) {
      values_.push_back(value);
    } else {
      set(count_ - 1, value);
    }
  }
  // Forgets all values.
  void assign_zeros(std::size_t count) {
    values_.clear();
    count_ = count;
  }
  void resize(std::size_t count) {
    count_ = count;
    if (!values_.empty()) values_.resize(count);
  }

 private:
  std::size_t count_ = 0;
  BigVector<T> values_;  // empty, or count_ of them
};

// Sums over the children of events that have any, which in many programs are few.
class ChildSums {
 public:
  struct Sums {
    double cpu_us = 0;
    std::int64_t cpu_bytes = 0;
  };

  // Makes room for the sums of an event, once, and returns where.
  std::uint32_t open(std::uint32_t event) {
    if (!events_.empty() && event < events_.back()) are_in_order_ = false;
    events_.push_back(event);
    cpu_us_.push_back(0);
    if (!cpu_bytes_.empty()) cpu_bytes_.push_back(0);
    return static_cast<std::uint32_t>(cpu_us_.size() - 1);
  }
  void add(std::uint32_t place, Sums more) {
    cpu_us_[place] += more.cpu_us;
    if (more.cpu_bytes == 0) return;
    while (cpu_bytes_.size() < cpu_us_.size()) cpu_bytes_.push_back(0);
    cpu_bytes_[place] += more.cpu_bytes;
  }
  // After the last open(): from here on sums are found by event.
  void close(std::size_t events);

  Sums operator[](std::size_t event) const noexcept {
    const Marks& marks = marks_[event / 64];
    if ((marks.bits >> event % 64 & 1) == 0) return {};
    const std::uint64_t earlier = marks.bits & ((std::uint64_t{1} << event % 64) - 1);
    const std::size_t at = marks.before + static_cast<std::size_t>(std::popcount(earlier));
    return {cpu_us_[at], cpu_bytes_.empty() ? 0 : cpu_bytes_[at]};
  }

 private:
  struct Marks {
    std::uint64_t bits = 0;    // which of 64 events have sums
    std::uint32_t before = 0;  // how many events before these have
  };

  BigVector<Marks> marks_;
  // In the order of the events, once closed.
  Pieces<double> cpu_us_;
  Pieces<std::int64_t> cpu_bytes_;  // empty while all are 0
  Pieces<std::uint32_t> events_;    // of the sums; empty once closed
  bool are_in_order_ = true;
};

struct EventData {
  EventData() { pack(); }
  // Decodes the events of the trace if need be.
  explicit EventData(const Trace& of)
      : trace(of), spans(&trace.spans()), allocations(&trace.allocations()) {
    pack();
  }

  Trace trace;
  const SpanTable* spans = nullptr;  // of the trace
  const AllocationTable* allocations = nullptr;
  Nanos start_ns = 0;
  std::string use_device;
  bool with_stack = false;
  bool profile_memory = false;
  bool with_flops = false;

  std::bitset<256> span_kinds;              // of spans among the events
  bool has_steps = false;                   // some event has the made-up name of steps
  bool has_tree = false;                    // build_tree() has nothing left to do
  std::vector<std::uint32_t> host_threads;  // by their first event, if has_tree

  // Packed, because there may be many millions.
  Column<std::uint32_t> row{kNoEvent};  // in spans, or in allocations
  Column<NameNumber> name;
  Column<std::uint8_t> flags;
  Column<std::uint32_t> thread{kNoEvent};  // the row in tracks whose stack it is on
  Column<std::uint32_t> parent{kNoEvent};
  ChildSums children;
  SparseColumn<double> device_total_us;
  SparseColumn<std::uint32_t> kernels_first;  // where the event's kernels begin in `kernels`
  SparseColumn<std::uint32_t> kernels_count;
  BigVector<std::uint32_t> kernels;  // events
  SparseColumn<double> children_device_us;

  // Empty unless memory was recorded.
  Column<std::int64_t> cpu_bytes;
  SparseColumn<std::int64_t> device_bytes;
  SparseColumn<std::int64_t> children_device_bytes;

  std::vector<std::int64_t> logical_thread;  // of each track
  FlopsOfCalls flops;

  std::size_t size() const noexcept { return row.size(); }
  bool has(std::size_t event, EventFlag flag) const noexcept { return (flags[event] & flag) != 0; }
  bool is_span(std::size_t event) const noexcept { return !has(event, kEventMemory); }
  SpanId span(std::size_t event) const noexcept {
    return is_span(event) ? SpanId(row[event]) : SpanId();
  }
  SpanKind kind(std::size_t event) const noexcept {
    return is_span(event) ? spans->kind[row[event]] : SpanKind::CpuInstantEvent;
  }
  // Whether any event may be of a kind for which the predicate is true.
  template <typename IsIt>
  bool has_kind(const IsIt& is_it) const {
    for (std::size_t kind = 0; kind < span_kinds.size(); ++kind) {
      if (span_kinds.test(kind) && is_it(static_cast<SpanKind>(kind))) return true;
    }
    return false;
  }
  struct Times {
    Nanos begin_ns;
    Nanos end_ns;
  };
  Times times(std::size_t event) const noexcept {
    const std::uint32_t at = row[event];
    if (!is_span(event)) return {allocations->time_ns[at], allocations->time_ns[at]};
    const Nanos begin_ns = spans->start_ns[at];
    return {begin_ns, begin_ns + spans->duration_ns[at]};
  }
  Nanos begin_ns(std::size_t event) const noexcept {
    return is_span(event) ? spans->start_ns[row[event]] : allocations->time_ns[row[event]];
  }
  Nanos end_ns(std::size_t event) const noexcept { return times(event).end_ns; }
  Nanos duration_ns(std::size_t event) const noexcept {
    return is_span(event) ? spans->duration_ns[row[event]] : 0;
  }

  // Whether it is a host event with a place in the tree.
  bool nests(std::size_t event) const noexcept {
    return (flags[event] & (kEventDevice | kEventAsync)) == 0;
  }
  // The difference of two times in microseconds since the start, calculated as PyTorch does.
  double duration_us(std::size_t event) const noexcept { return duration_us(times(event)); }
  double duration_us(Times times) const noexcept {
    return static_cast<double>(times.end_ns - start_ns) / 1000.0 -
           static_cast<double>(times.begin_ns - start_ns) / 1000.0;
  }
  double cpu_total_us(std::size_t event) const noexcept {
    return has(event, kEventDevice) ? 0.0 : duration_us(event);
  }
  double self_cpu_us(std::size_t event) const noexcept {
    return nests(event) ? duration_us(event) - children[event].cpu_us : 0.0;
  }
  double self_device_us(std::size_t event) const noexcept;
  std::uint64_t flops_of(std::size_t event) const noexcept;

  NameNumber made_up(MadeUpName which) const noexcept {
    return static_cast<NameNumber>(trace.strings().size()) + static_cast<NameNumber>(which);
  }
  std::string_view name_text(NameNumber number) const noexcept;
  DeviceType device_type(std::size_t event) const noexcept;
  bool is_backward(std::size_t event) const noexcept;
  RecordScope scope(std::size_t event) const noexcept;
  // Innermost first, at most so many frames. Events of a gradient have the stack of its forward
  // operator.
  std::vector<std::string> stack(std::size_t event, std::size_t most = kAllFrames) const;
  // A JSON object; empty if there are none.
  std::string arguments(std::size_t event) const;

 private:
  void pack() {
    for (auto* column : {&row, &name, &thread, &parent}) column->pack();
    flags.pack();
    cpu_bytes.pack();
  }

  // Whether the trace has such callers at all. If not, no event needs to search up to the root.
  struct Callers {
    bool python = false;
    bool gradients = false;
  };
  const Callers& callers() const;
  const std::vector<ForwardOp>& forward_ops() const;
  const std::vector<ExtraOfSpan>& extras() const;

  mutable std::once_flag callers_once_;
  mutable Callers callers_;
  mutable std::once_flag forward_ops_once_;
  mutable std::vector<ForwardOp> forward_ops_;  // sorted; made when a stack is first needed
  mutable std::once_flag extras_once_;
  mutable std::vector<ExtraOfSpan> extras_;  // by span; made when arguments are first needed
};

// The steps that make a list, in order. The first builds the tree as well if nothing moves events
// between threads.
void collect_events(EventData& data);
void link_device_work(EventData& data);
void place_what_has_no_thread(EventData& data);
void build_tree(EventData& data);
void number_threads(EventData& data);

}  // namespace sonde::detail
