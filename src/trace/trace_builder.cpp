// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/trace/builder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/parallel.h"
#include "trace/launches.h"
#include "trace/reference_check.h"
#include "trace/span_order.h"

namespace sonde {

namespace {

// The first and the last time in the tables.
class Extent {
 public:
  void add(Nanos time) { add(time, time); }
  void add(Nanos first, Nanos last) {
    first_ = empty_ ? first : std::min(first_, first);
    last_ = empty_ ? last : std::max(last_, last);
    empty_ = false;
  }
  Nanos first() const { return first_; }
  Nanos last() const { return last_; }

 private:
  bool empty_ = true;
  Nanos first_ = 0;
  Nanos last_ = 0;
};

constexpr std::size_t kTimesAtOnce = 1024;

Extent extent_of_spans(const SpanTable& spans) {
  constexpr std::size_t kRowsOfTask = 65536;
  std::vector<Extent> extents((spans.size() + kRowsOfTask - 1) / kRowsOfTask);
  parallel_for(extents.size(), [&](std::size_t task) {
    std::array<Nanos, kTimesAtOnce> start_ns{};
    std::array<Nanos, kTimesAtOnce> duration_ns{};
    const std::size_t end = std::min(spans.size(), (task + 1) * kRowsOfTask);
    Extent extent;
    for (std::size_t at = task * kRowsOfTask; at < end; at += kTimesAtOnce) {
      const std::size_t rows = std::min(kTimesAtOnce, end - at);
      spans.start_ns.read(at, rows, start_ns.data());
      spans.duration_ns.read(at, rows, duration_ns.data());
      for (std::size_t i = 0; i < rows; ++i) extent.add(start_ns[i], start_ns[i] + duration_ns[i]);
    }
    extents[task] = extent;
  });
  Extent whole;
  for (const Extent& extent : extents) whole.add(extent.first(), extent.last());
  return whole;
}

Extent extent_of(const TraceTables& tables) {
  Extent extent = extent_of_spans(tables.spans);
  const WindowTable& windows = tables.windows;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    extent.add(windows.start_ns[i], std::max(windows.start_ns[i], windows.end_ns[i]));
  }
  const auto add_times = [&extent](const Column<Nanos>& times) {
    if (!times.empty() && !times.materialised()) extent.add(times.null_value());
    times.visit_stretches([&extent](std::size_t, const Nanos* time, std::size_t rows) {
      for (std::size_t i = 0; i < rows; ++i) extent.add(time[i]);
    });
  };
  add_times(tables.instants.time_ns);
  add_times(tables.counters.time_ns);
  add_times(tables.allocations.time_ns);
  return extent;
}

}  // namespace

IdRange<SpanId> Trace::track_spans(TrackId track) const noexcept {
  const std::vector<std::uint32_t>& begin = whole().track_begin;
  const std::size_t bucket = track.valid() ? track.index() : tracks().size();
  if (bucket + 1 >= begin.size()) return {};
  return {begin[bucket], begin[bucket + 1]};
}

void TraceBuilder::add_ledger(LedgerKind kind, std::uint64_t count, std::string_view source,
                              std::string_view detail, ProcessId process) {
  LedgerRow row;
  row.process = process;
  row.kind = kind;
  row.count = count;
  if (!source.empty()) row.source = intern(source);
  if (!detail.empty()) row.detail = intern(detail);
  ledger().push_back(row);
}

Result<Trace> TraceBuilder::build() && {
  SONDE_TRY_VOID(check_lengths(data_.tables));
  const auto note = [this](const std::vector<Correction>& corrections) {
    for (const Correction& c : corrections) {
      add_ledger(LedgerKind::Undecodable, c.count, "trace builder", c.what);
    }
  };
  note(correct_values(data_.tables, data_.strings));
  data_.track_begin = order_spans(data_.tables);
  Extent extent;
  constexpr std::size_t kFewSpans = 65536;  // for which threads are not worth starting
  parallel_for(
      2,
      [&](std::size_t task) {
        if (task == 0) {
          find_parents(data_.tables, data_.track_begin);
        } else {
          extent = extent_of(data_.tables);
        }
      },
      data_.tables.spans.size() < kFewSpans ? 1 : 0);
  note(correct_parents(data_.tables));
  fill_launches(data_.tables);
  data_.first_ns = extent.first();
  data_.last_ns = extent.last();
  data_.tables.visit_tables([](const char*, auto& table) {
    table.visit_columns([](const char*, auto& column) { column.seal(); });
  });
  return Trace(std::make_shared<Trace::State>(std::move(data_)));
}

}  // namespace sonde
