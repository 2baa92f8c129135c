// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a thread that launches device work does besides.
//
//   Launchers launchers(data);
//   const HostWork& host = launchers.of(thread);
//   host.computing()                           // when it computed on the host itself
//   host.longest_in(begin_ns, end_ns)          // what took most of that time

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/report/report_data.h"

namespace sonde::detail {

// Whether at least a quarter of an operator's time was in operators that do more than make views
// and allocate.
bool does_work(const Trace& trace, SpanId op);
// Whether a name contains any of these.
bool has_any(std::string_view name, std::initializer_list<std::string_view> words);
// Whether a call asks the driver for device memory, or gives some back.
bool asks_driver_for_memory(std::string_view call);
// Whether torch.compile compiles in a span of this name.
bool compiles(std::string_view name);

class HostWork {
 public:
  HostWork(const ReportData& data, TrackId thread);

  // When it was in operators that launch nothing and take long enough to compute something.
  const Coverage& computing() const noexcept { return computing_; }
  // When it ran other code, for longer than it takes to come from one operator to the next. Loading
  // data does not count.
  const Coverage& outside() const noexcept { return outside_; }
  // When the driver loaded kernels, which it does at their first use.
  const Coverage& loading_kernels() const noexcept { return loading_kernels_; }
  // All that is not launching: these three, loading data, and in steady steps compilation and
  // memory from the driver.
  const Coverage& other_work() const noexcept { return other_work_; }

  // The outermost operator or call that covers most of a time; invalid: none does.
  SpanId longest_in(Nanos begin_ns, Nanos end_ns) const;
  // The same of those that do not just compute.
  SpanId launching_in(Nanos begin_ns, Nanos end_ns) const;

 private:
  void find_loading_kernels(TrackId thread);
  void find_operators(const ReportData& data, TrackId thread, const Coverage& told);
  void find_outside(const ReportData& data, TrackId thread, const Coverage& told);
  SpanId longest(Nanos begin_ns, Nanos end_ns, bool only_launching) const;

  struct Outer {
    SpanId span;
    bool computes;
  };
  const Trace& trace_;
  std::vector<Outer> outer_;  // in time order
  Coverage computing_;
  Coverage outside_;
  Coverage loading_kernels_;
  Coverage other_work_;
};

class Launchers {
 public:
  explicit Launchers(const ReportData& data) : data_(data) {}
  const HostWork& of(TrackId thread) {
    return by_thread_.try_emplace(thread.value(), data_, thread).first->second;
  }

 private:
  const ReportData& data_;
  std::unordered_map<std::uint32_t, HostWork> by_thread_;
};

}  // namespace sonde::detail
