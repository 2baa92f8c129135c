// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/text.h"
#include "sonde/trace/builder.h"
#include "trace/trace_part.h"

namespace sonde {
namespace {

constexpr std::uint32_t kLeftOut = SpanId::kInvalid;

// Both included.
struct Interval {
  Nanos first_ns;
  Nanos last_ns;
  bool overlaps(Nanos start_ns, Nanos end_ns) const {
    return start_ns <= last_ns && end_ns >= first_ns;
  }
  void limit(Nanos first, Nanos last) {
    first_ns = std::max(first_ns, first);
    last_ns = std::min(last_ns, last);
  }
};

Failure no_such_steps(const TraceCounts& counts) {
  if (counts.steps.count == 0) return {ErrorCode::NotFound, "the trace has no steps"};
  return {ErrorCode::NotFound, "no such step; the trace has steps " +
                                   std::to_string(counts.steps.first) + " to " +
                                   std::to_string(counts.steps.last)};
}

Result<Interval> interval_of_steps(const Trace& trace,
                                   std::pair<std::int64_t, std::int64_t> steps) {
  const SpanTable& spans = trace.spans();
  Interval found{std::numeric_limits<Nanos>::max(), std::numeric_limits<Nanos>::min()};
  for (const SpanId span : trace.all_spans()) {
    if (spans.kind[span] != SpanKind::Step) continue;
    if (spans.step[span] < steps.first || spans.step[span] > steps.second) continue;
    found.first_ns = std::min(found.first_ns, spans.start_ns[span]);
    found.last_ns = std::max(found.last_ns, trace.end_ns(span));
  }
  if (found.first_ns > found.last_ns) return no_such_steps(trace.counts());
  // What begins or ends with a step belongs to one of two neighbours alone.
  if (found.last_ns - found.first_ns >= 2) found = {found.first_ns + 1, found.last_ns - 1};
  return found;
}

Failure nothing_in(const Trace& trace, const TracePart& part) {
  const Nanos length_ns = trace.last_ns() - trace.first_ns();
  std::string why = "the steps are before or after it";
  if (part.from_ns && *part.from_ns > length_ns)
    why = "the trace ends " + duration_text(length_ns) + " after its start";
  else if (part.from_ns && part.to_ns && *part.to_ns < *part.from_ns)
    why = "it ends before it begins";
  else if (!part.steps)
    why = "it is too short";
  return {ErrorCode::Invalid, "nothing lies in this part: " + why};
}

Result<Interval> interval_of(const Trace& trace, const TracePart& part) {
  Interval interval{trace.first_ns(), trace.last_ns()};
  if (part.from_ns) interval.first_ns += *part.from_ns;
  if (part.to_ns) interval.last_ns = trace.first_ns() + *part.to_ns;
  if (part.last_ns) interval.limit(trace.last_ns() - *part.last_ns, trace.last_ns());
  if (part.steps) {
    SONDE_TRY(const Interval steps, interval_of_steps(trace, *part.steps));
    interval.limit(steps.first_ns, steps.last_ns);
  }
  if (interval.first_ns <= interval.last_ns) return interval;
  return nothing_in(trace, part);
}

bool is_named(const Trace& trace, std::size_t track, const std::string& wanted) {
  return std::to_string(trace.tracks().id[track]) == wanted ||
         trace.string(trace.tracks().name[track]) == wanted;
}

// By track: whether it was asked for. Empty: all are.
Result<std::vector<bool>> wanted_tracks(const Trace& trace, const TracePart& part) {
  std::vector<bool> wanted;
  for (const std::string& thread : part.threads) {
    wanted.resize(trace.tracks().size());
    bool found = false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (trace.tracks().kind[i] != TrackKind::Thread || !is_named(trace, i, thread)) continue;
      wanted[i] = found = true;
    }
    if (!found)
      return Failure(ErrorCode::NotFound,
                     "no thread " + thread + "; `sonde info` lists names and numbers");
  }
  return wanted;
}

std::uint64_t rows_that_count(const TraceTables& tables) {
  return tables.spans.size() + tables.instants.size() + tables.counters.size() +
         tables.allocations.size();
}

// Row by row: which stay, and where they stand then.
class Choice {
 public:
  explicit Choice(std::size_t rows) : new_row_(rows, kLeftOut) {}
  void keep(std::size_t row) { new_row_[row] = kept_++; }
  bool keeps(std::size_t row) const { return new_row_[row] != kLeftOut; }
  std::uint32_t new_row(std::size_t row) const { return new_row_[row]; }

  template <typename Table>
  void apply(Table& table) const {
    table.visit_columns([this](const char*, auto& column) { this->thin(column); });
  }

 private:
  template <typename T>
  void thin(Column<T>& column) const {
    if (!column.materialised()) return column.resize(kept_);
    Column<T> thinned(column.null_value());
    if (column.packs()) thinned.pack();
    thinned.reserve(kept_);
    for (std::size_t row = 0; row < new_row_.size(); ++row) {
      if (keeps(row)) thinned.push_back(column[row]);
    }
    column = std::move(thinned);
  }

  std::vector<std::uint32_t> new_row_;
  std::uint32_t kept_ = 0;
};

class Part {
 public:
  Part(const Trace& trace, const TracePart& part, Interval interval, std::vector<bool> tracks,
       std::uint64_t rows)
      : part_(part),
        interval_(interval),
        tracks_(std::move(tracks)),
        spans_(trace.spans().size()),
        rows_(rows) {
    builder_.tables() = trace.tables();
    builder_.strings() = trace.strings();
  }

  Result<Trace> make() && {
    TraceTables& tables = builder_.tables();
    choose_spans(tables.spans);
    thin_moments(TableKind::Allocations, tables.allocations);
    thin_moments(TableKind::Instants, tables.instants);
    thin_moments(TableKind::Counters, tables.counters);
    thin_flows(tables.flows);
    tables.visit_tables([this](const char*, auto& table) { this->thin_owned(table); });
    thin_extras(tables.extras);
    spans_.apply(tables.spans);
    tables.visit_tables([this](const char*, auto& table) { this->follow(table); });
    const std::uint64_t kept = rows_that_count(tables);
    if (rows_ > kept)
      builder_.add_ledger(LedgerKind::Note, rows_ - kept, "part",
                          count_text(rows_ - kept) + " of " + count_text(rows_) +
                              " spans, instants, counters and allocations are outside this part");
    return std::move(builder_).build();
  }

 private:
  bool wants(TrackId track) const {
    return tracks_.empty() || (track.valid() && tracks_[track.index()]);
  }

  bool wants(SpanKind kind) const {
    return !part_.kinds ||
           std::find(part_.kinds->begin(), part_.kinds->end(), kind) != part_.kinds->end();
  }

  bool is_in_gap(bool is_device, Nanos start_ns) const {
    return std::any_of(part_.gaps.begin(), part_.gaps.end(), [&](const TraceGap& gap) {
      return (is_device ? gap.of_devices : gap.of_host) && start_ns >= gap.first_ns &&
             start_ns <= gap.last_ns;
    });
  }

  // Work goes with the call that launched it.
  void leave_out_launched(const SpanTable& spans, std::vector<bool>& chosen) const {
    for (std::size_t i = 0; !part_.gaps.empty() && i < spans.size(); ++i) {
      const SpanId launch = spans.launch[i];
      const bool is_left_out =
          launch.valid() && is_device_activity(spans.kind[i]) &&
          is_in_gap(is_device_activity(spans.kind[launch.index()]), spans.start_ns[launch.index()]);
      if (is_left_out) chosen[i] = false;
    }
  }

  // Calls come before the work that they launched only in time, so they are chosen first.
  void choose_spans(const SpanTable& spans) {
    std::vector<bool> chosen(spans.size());
    for (std::size_t i = 0; i < spans.size(); ++i) {
      chosen[i] = wants(spans.track[i]) && wants(spans.kind[i]) &&
                  !is_in_gap(is_device_activity(spans.kind[i]), spans.start_ns[i]) &&
                  interval_.overlaps(spans.start_ns[i], spans.start_ns[i] + spans.duration_ns[i]);
    }
    if (!tracks_.empty()) {
      for (std::size_t i = 0; i < spans.size(); ++i) {
        const SpanId launch = spans.launch[i];
        if (launch.valid() && chosen[launch.index()]) chosen[i] = true;
      }
    }
    leave_out_launched(spans, chosen);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (chosen[i]) spans_.keep(i);
    }
  }

  template <typename Table>
  void thin_moments(TableKind kind, Table& table) {
    Choice choice(table.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      const Nanos time = table.time_ns[i];
      if (wants(table.track[i]) && wants(SpanKind::CpuInstantEvent) && !is_in_gap(false, time) &&
          interval_.overlaps(time, time))
        choice.keep(i);
    }
    finish(kind, table, std::move(choice));
  }

  bool keeps(SpanId span) const { return span.valid() && spans_.keeps(span.index()); }

  void thin_flows(FlowTable& flows) {
    Choice choice(flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (keeps(flows.from_span[i]) || keeps(flows.to_span[i])) choice.keep(i);
    }
    finish(TableKind::Flows, flows, std::move(choice));
  }

  // Rows that say more of one span.
  template <typename Table>
  void thin_owned(Table& table) {
    constexpr bool kIsOwned =
        std::is_same_v<Table, KernelTable> || std::is_same_v<Table, CopyTable> ||
        std::is_same_v<Table, ApiCallTable> || std::is_same_v<Table, SyncTable> ||
        std::is_same_v<Table, CollectiveTable> || std::is_same_v<Table, PythonCallTable> ||
        std::is_same_v<Table, TensorUseTable>;
    if constexpr (kIsOwned) {
      Choice choice(table.size());
      for (std::size_t i = 0; i < table.size(); ++i) {
        if (!table.span[i].valid() || keeps(table.span[i])) choice.keep(i);
      }
      finish(Table::kTable, table, std::move(choice));
    }
  }

  template <typename Table>
  void finish(TableKind kind, Table& table, Choice choice) {
    choice.apply(table);
    choices_.emplace_back(kind, std::move(choice));
  }

  void thin_extras(ExtraTable& extras) {
    Choice choice(extras.size());
    for (std::size_t i = 0; i < extras.size(); ++i) {
      const Choice* of_table = choice_of(extras.of_table[i]);
      const std::uint32_t row = extras.of_row[i];
      if (of_table == nullptr || row == extras.of_row.null_value()) {
        choice.keep(i);
      } else if (of_table->keeps(row)) {
        choice.keep(i);
        extras.of_row.set(i, of_table->new_row(row));
      }
    }
    choice.apply(extras);
  }

  const Choice* choice_of(TableKind kind) const {
    if (kind == TableKind::Spans) return &spans_;
    for (const auto& [of, choice] : choices_) {
      if (of == kind) return &choice;
    }
    return nullptr;
  }

  template <typename Table>
  void follow(Table& table) {
    table.visit_columns([this](const char*, auto& column) { this->follow_column(column); });
  }
  template <typename T>
  void follow_column(const Column<T>& /*column*/) {}
  void follow_column(Column<SpanId>& column) {
    column.change_stretches([this](std::size_t, SpanId* values, std::size_t rows) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (values[i].valid()) values[i] = SpanId(spans_.new_row(values[i].index()));
      }
      return true;
    });
  }

  const TracePart& part_;
  Interval interval_;
  std::vector<bool> tracks_;
  Choice spans_;
  std::vector<std::pair<TableKind, Choice>> choices_;
  TraceBuilder builder_;
  std::uint64_t rows_;
};

}  // namespace

Result<Trace> part_of(const Trace& trace, const TracePart& part) {
  if (part.is_all()) return trace;
  return part_of(trace, part, rows_that_count(trace.tables()));
}

Result<Trace> part_of(const Trace& trace, const TracePart& part, std::uint64_t rows) {
  SONDE_TRY(const Interval interval, interval_of(trace, part));
  SONDE_TRY(std::vector<bool> tracks, wanted_tracks(trace, part));
  return Part(trace, part, interval, std::move(tracks), rows).make();
}

}  // namespace sonde
