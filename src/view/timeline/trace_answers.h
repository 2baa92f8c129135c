// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a page may ask of a trace: the index of the timeline, and analyses that are made when they
// are first needed and then kept. Any thread may call it; whoever needs the same analysis waits.

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analyse/time/launches.h"
#include "sonde/analyse/device_time.h"
#include "sonde/analyse/events.h"
#include "sonde/analyse/memory.h"
#include "sonde/analyse/report.h"
#include "sonde/view/trace_page.h"
#include "view/timeline/rows_of_span.h"
#include "view/timeline/timeline_index.h"

namespace sonde::detail {

// A value that is made once.
template <typename T>
class Lazy {
 public:
  template <typename Make>
  const T& get(Make make) const {
    const std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(make());
    return *value_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::optional<T> value_;
};

// Which rows of other tables belong to a span.
struct SpanRows {
  explicit SpanRows(const Trace& trace);
  RowsOfSpan kernels;
  RowsOfSpan copies;
  RowsOfSpan syncs;
  RowsOfSpan collectives;
  RowsOfSpan extras;
  RowsOfSpan flows_from;
  RowsOfSpan flows_to;
};

// When work was launched, and when it had finished.
struct QueueChange {
  ProcessId process;
  std::int32_t device = -1;
  Nanos at = 0;  // since the start of the trace
  int by = 0;    // 1 or -1
};

class TraceAnswers {
 public:
  // `name` is what pages call the trace, such as its file.
  // `more` are views that are not of this trace. `is_job`: it has the ranks of a job.
  TraceAnswers(const Trace& trace, std::string name, std::vector<PageView> more = {},
               bool is_job = false)
      : index_(trace), name_(std::move(name)), more_views_(std::move(more)), is_job_(is_job) {}

  const Trace& trace() const { return index_.trace(); }
  const TimelineIndex& index() const { return index_; }
  const std::string& name() const { return name_; }
  const std::vector<PageView>& more_views() const { return more_views_; }
  bool is_job() const { return is_job_; }

  const SpanRows& rows() const;
  const Launches& launches() const;
  const Report& report() const;
  const std::vector<DeviceTime>& devices() const;
  const MemoryProfile& memory() const;
  const EventList& events() const;
  const std::vector<QueueChange>& queue() const;  // by time

 private:
  TimelineIndex index_;
  std::string name_;
  std::vector<PageView> more_views_;
  bool is_job_ = false;
  Lazy<SpanRows> rows_;
  Lazy<Launches> launches_;
  Lazy<Report> report_;
  Lazy<std::vector<DeviceTime>> devices_;
  Lazy<MemoryProfile> memory_;
  Lazy<EventList> events_;
  Lazy<std::vector<QueueChange>> queue_;
};

}  // namespace sonde::detail
