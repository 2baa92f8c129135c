// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <type_traits>
#include <utility>
#include <vector>

#include "sonde/trace/join.h"

namespace sonde {
namespace {

// The tables of a trace as they stand behind those that are there already: references are moved to
// the new rows, times to the common clock.
class MovedTables {
 public:
  MovedTables(const Trace& trace, const TraceJoinOptions& options, const TraceTables& before,
              StringPool& strings)
      : tables_(trace.tables()), options_(options), before_(before) {
    strings_.reserve(trace.strings().size());
    for (std::size_t i = 0; i < trace.strings().size(); ++i)
      strings_.push_back(strings.intern(trace.strings()[StringId(i)]));
  }

  TraceTables make() && {
    move_extras();
    tables_.visit_tables([this](const char*, auto& table) {
      table.visit_columns([this](const char*, auto& column) { this->move_ids(column); });
    });
    move_times();
    tell_ranks();
    return std::move(tables_);
  }

 private:
  template <typename T>
  void move_ids(Column<T>& column) const {
    if constexpr (IsId<T>::value) {
      column.change_stretches([this](std::size_t, T* ids, std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i)
          if (ids[i].valid()) ids[i] = moved(ids[i]);
        return true;
      });
    }
  }
  StringId moved(StringId id) const {
    return id.index() < strings_.size() ? strings_[id.index()] : StringId();
  }
  template <typename Tag>
  Id<Tag> moved(Id<Tag> id) const {
    return Id<Tag>(id.index() + before_.rows(Tag::kTable));
  }

  void move_extras() {
    ExtraTable& extras = tables_.extras;
    for (std::size_t i = 0; i < extras.size(); ++i) {
      const std::uint32_t row = extras.of_row[i];
      if (row == extras.of_row.null_value()) continue;
      extras.of_row.set(i, static_cast<std::uint32_t>(row + before_.rows(extras.of_table[i])));
    }
  }

  bool is_same_clock() const { return options_.clock.offset_ns == 0 && options_.clock.drift == 0; }
  Nanos shifted(Nanos time_ns) const { return options_.clock.shifted(time_ns); }
  void shift(Column<Nanos>& times) const {
    for (std::size_t i = 0; i < times.size(); ++i) times.set(i, shifted(times[i]));
  }
  // 0 means that there is no time.
  void shift_known(Column<Nanos>& times) const {
    for (std::size_t i = 0; i < times.size(); ++i)
      if (times[i] != 0) times.set(i, shifted(times[i]));
  }

  void move_times() {
    if (is_same_clock()) return;
    SpanTable& spans = tables_.spans;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      // Both ends are moved, so that what nests still does.
      const Nanos end_ns = shifted(spans.start_ns[i] + spans.duration_ns[i]);
      spans.start_ns.set(i, shifted(spans.start_ns[i]));
      spans.duration_ns.set(i, end_ns - spans.start_ns[i]);
    }
    shift(tables_.allocations.time_ns);
    shift(tables_.counters.time_ns);
    shift(tables_.instants.time_ns);
    shift(tables_.tensor_roles.time_ns);
    shift(tables_.windows.start_ns);
    shift(tables_.windows.end_ns);
    shift_known(tables_.windows.closed_ns);
    shift_known(tables_.flows.from_ns);
    shift_known(tables_.flows.to_ns);
    shift_known(tables_.processes.start_ns);
  }

  // Tracks without a process get one, because those of several traces would seem to be of one.
  void tell_ranks() {
    ProcessTable& processes = tables_.processes;
    TrackTable& tracks = tables_.tracks;
    ProcessId unnamed;
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      if (tracks.process[i].valid()) continue;
      if (!unnamed.valid()) unnamed = processes.push_back({.pid = -1});
      tracks.process.set(i, ProcessId(before_.processes.size() + unnamed.index()));
    }
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (processes.rank[i] < 0) processes.rank.set(i, options_.rank);
      processes.clock_offset_ns.set(i, processes.clock_offset_ns[i] + options_.clock.offset_ns);
      processes.clock_error_ns.set(i, processes.clock_error_ns[i] + options_.clock.error_ns);
    }
  }

  TraceTables tables_;
  const TraceJoinOptions& options_;
  const TraceTables& before_;
  std::vector<StringId> strings_;  // by number in the trace that is added
};

}  // namespace

void TraceJoin::add(const Trace& trace, const TraceJoinOptions& options) {
  TraceTables more = MovedTables(trace, options, builder_.tables(), builder_.strings()).make();
  builder_.tables().visit_tables([&](const char*, auto& table) {
    more.visit_tables([&](const char*, auto& added) {
      if constexpr (std::is_same_v<decltype(table), decltype(added)>)
        table.append(std::move(added));
    });
  });
}

Result<Trace> TraceJoin::build() && {
  return std::move(builder_).build();
}

}  // namespace sonde
