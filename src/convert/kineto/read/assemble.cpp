// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/assemble.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/big_vector.h"
#include "base/json_string.h"
#include "base/parallel.h"
#include "base/run_sort.h"
#include "convert/json/json_number.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/argument_lists.h"
#include "convert/kineto/read/close_spans.h"
#include "convert/kineto/read/extras.h"
#include "convert/kineto/read/find_windows.h"
#include "convert/kineto/read/flows.h"
#include "convert/kineto/read/innermost_spans.h"
#include "convert/kineto/read/join_captures.h"
#include "convert/kineto/read/joined.h"
#include "convert/kineto/read/reserve_rows.h"
#include "convert/kineto/read/span_rows.h"
#include "convert/kineto/read/stack_reader.h"
#include "convert/kineto/read/track_reader.h"

namespace sonde {

namespace {

class Assembler {
 public:
  Assembler(TraceBuilder& builder, KinetoParts parts, unsigned threads)
      : builder_(builder), parts_(std::move(parts)) {
    joined_.stretches = std::move(parts_.stretches);
    joined_.threads = threads;
  }

  void run() {
    read_base();
    windows_ = find_windows(joined_.stretches, hidden_);
    spans_before_ = spans_before(joined_.stretches);
    hide_lines_of_early_flows();
    TrackReader tracks(builder_, joined_.stretches);
    tracks.add_devices(parts_.devices);
    tracks.read(hidden_.metas, hidden_.tracks);
    joined_.tracks = tracks.tracks();
    join_texts();
    join_lists();
    const std::vector<SpanEnd> ends = close_spans(builder_, joined_, tracks);
    placed_.spans = fill_spans(builder_, joined_);
    release_spans();
    set_end_tracks(ends);
    fill_other_tables();
    join_captures(builder_);
    for (const ForeignFlow& foreign : foreign_flows_) {
      keep_extra(builder_, TableKind::Flows, foreign.flow.value(), "event.id", foreign.id);
    }
    fill_extras(builder_, joined_, placed_);
    for (const SpanEnd& end : ends) keep_end(builder_, row_of(end), end);
    add_windows(tracks.host());
    add_metadata(tracks.host());
  }

 private:
  void read_base() {
    for (const RawMember& member : parts_.metadata) {
      if (member.key == "baseTimeNanoseconds") {
        joined_.base_ns = to_integer(member.value).value_or(0);
      }
    }
  }

  // Hides lines on which every flow belongs to a span of an earlier stretch.
  void hide_lines_of_early_flows() {
    for (std::size_t s = 0; s < joined_.stretches.size(); ++s) {
      const Staged& stretch = joined_.stretches[s];
      std::map<std::uint32_t, std::uint32_t> moved;  // by line
      for (const std::uint32_t flow : spans_before_[s].flows) ++moved[stretch.flows[flow].track];
      for (const auto& [line, flows] : moved) {
        if (flows == stretch.tracks[line].users) hidden_.tracks[s][line] = true;
      }
    }
  }

  void join_texts() {
    StackReader stacks(builder_);
    for (const Staged& stretch : joined_.stretches) {
      std::vector<StringId>& texts = joined_.texts.emplace_back();
      for (const std::string_view raw : stretch.texts.keys()) {
        texts.push_back(is_plain_json_string(raw) ? builder_.intern(raw)
                                                  : builder_.intern(decode_json_string(raw)));
      }
      std::vector<StackId>& of_stacks = joined_.stacks.emplace_back();
      for (const std::string_view raw : stretch.stacks.keys()) {
        of_stacks.push_back(stacks.stack(decode_json_string(raw)));
      }
      std::vector<ModuleId>& modules = joined_.modules.emplace_back();
      for (const std::string_view raw : stretch.modules.keys()) {
        modules.push_back(stacks.module(decode_json_string(raw)));
      }
    }
  }

  void join_lists() {
    Memo<RawArguments, HashRawArguments> seen;
    std::vector<ArgumentListId> lists;
    for (const Staged& stretch : joined_.stretches) {
      std::vector<ArgumentListId>& ids = joined_.lists.emplace_back();
      for (const RawArguments& raw : stretch.argument_lists.keys()) {
        const std::uint32_t id = seen.id_of(raw);
        if (id == lists.size()) lists.push_back(add_argument_list(builder_, raw));
        ids.push_back(lists[id]);
      }
    }
  }

  // Spans are half of what was staged. The next tables reuse their memory.
  void release_spans() {
    const auto release = [this](std::size_t s) {
      if (needs_spans(joined_, s)) return;
      joined_.stretches[s].spans = {};
      joined_.stretches[s].span_values = {};
    };
    parallel_for(joined_.stretches.size(), release, joined_.threads);
  }

  SpanId row_of(const SpanEnd& end) const { return placed_.spans(end.span.stretch, end.span.row); }

  void set_end_tracks(const std::vector<SpanEnd>& ends) {
    for (const SpanEnd& end : ends) {
      if (end.end_track.valid()) builder_.spans().end_track.set(row_of(end), end.end_track);
    }
  }

  // Fills rows of other tables that belong to spans, in the order of the spans. `adjust` turns raw
  // texts into string ids.
  template <typename Table, typename Row, typename Adjust>
  void fill_side_table(Table& table, BigVector<Row> Staged::* staged, const Adjust& adjust) {
    struct Key {
      std::uint32_t span;
      Place place;
    };
    BigVector<Key> keys;
    for (std::uint32_t s = 0; s < joined_.stretches.size(); ++s) {
      const BigVector<Row>& rows = joined_.stretches[s].*staged;
      for (std::uint32_t i = 0; i < rows.size(); ++i) {
        const SpanId span = placed_.spans(s, rows[i].span.value());
        if (span.valid()) keys.push_back({span.value(), {s, i}});
      }
    }
    run_sort(std::span(keys), [](const Key& a, const Key& b) { return a.span < b.span; });
    reserve_rows(table, keys.size());
    for (const Key& key : keys) {
      Row row = (joined_.stretches[key.place.stretch].*staged)[key.place.row];
      row.span = SpanId(key.span);
      adjust(row, key.place.stretch);
      table.push_back(row);
      ask_for_big_columns(table, keys.size());
    }
  }

  StringId text(std::size_t stretch, StringId raw) const {
    return joined_.text(stretch, raw.value());
  }

  // Fills the tables in parallel: none of them adds texts.
  void fill_other_tables() {
    const auto nothing = [](auto&, std::size_t) {};
    const std::array<std::function<void()>, 10> tasks = {
        [this] {
          foreign_flows_ =
              fill_flows(builder_, joined_, placed_.spans, spans_before_, placed_.flows);
        },
        [&] { fill_side_table(builder_.python_calls(), &Staged::python_calls, nothing); },
        [&] { fill_side_table(builder_.api_calls(), &Staged::api_calls, nothing); },
        [&] { fill_side_table(builder_.syncs(), &Staged::syncs, nothing); },
        [this] {
          fill_side_table(builder_.kernels(), &Staged::kernels,
                          [this](KernelRow& row, std::size_t s) { read_texts(row, s); });
        },
        [this] {
          fill_side_table(builder_.copies(), &Staged::copies,
                          [this](CopyRow& row, std::size_t) { read_copy_name(row); });
        },
        [this] {
          fill_side_table(builder_.collectives(), &Staged::collectives,
                          [this](CollectiveRow& row, std::size_t s) { read_texts(row, s); });
        },
        [this] { fill_allocations(); },
        [this] { fill_instants(); },
        [this] { fill_counters(); },
    };
    parallel_for(tasks.size(), [&tasks](std::size_t i) { tasks[i](); }, joined_.threads);
  }

  // Turns the texts that a row took from arguments into string ids.
  template <typename Row>
  void read_texts(Row& row, std::size_t stretch) const {
    const auto read = [&](auto, auto&& column) {
      using Value = std::remove_cvref_t<decltype(column)>;
      if constexpr (std::is_same_v<Value, StringId>) column = text(stretch, column);
      return true;
    };
    visit_keys(row, [&](ArgKey key, auto&& column) {
      using Value = std::remove_cvref_t<decltype(column)>;
      if constexpr (std::is_same_v<Value, OccupancyColumns>) column.visit(read);
      return read(key, column);
    });
  }

  // "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"
  void read_copy_name(CopyRow& row) {
    const std::string_view name = builder_.strings()[builder_.spans().name[row.span]];
    const std::size_t open = name.find(" (");
    if (open == std::string_view::npos || !name.ends_with(')')) return;
    const std::string_view what = name.substr(0, open);
    const std::string_view ends = name.substr(open + 2, name.size() - open - 3);
    const auto memory = [](std::string_view kind) {
      return parse_memory_kind(kind).value_or(MemoryKind::Unknown);
    };
    if (what == "Memset") {
      row.kind = CopyKind::Memset;
      row.destination_kind = memory(ends);
      return;
    }
    const std::size_t arrow = ends.find(" -> ");
    if (!what.starts_with("Memcpy ") || arrow == std::string_view::npos) return;
    row.kind = parse_copy_kind(what.substr(7)).value_or(CopyKind::Unknown);
    row.source_kind = memory(ends.substr(0, arrow));
    row.destination_kind = memory(ends.substr(arrow + 4));
  }

  // Fills a table whose rows have one time, ordered by track and time.
  template <typename Table, typename Row, typename Adjust>
  void fill_point_table(Table& table, BigVector<Row> Staged::* staged, RowMap& map,
                        const Adjust& adjust) {
    struct Key {
      TrackId track;
      Nanos time;
      Place place;
    };
    BigVector<Key> keys;
    for (std::uint32_t s = 0; s < joined_.stretches.size(); ++s) {
      const BigVector<Row>& rows = joined_.stretches[s].*staged;
      map.emplace_back(rows.size(), kNoRow);
      for (std::uint32_t i = 0; i < rows.size(); ++i) {
        const bool is_hidden = std::is_same_v<Row, InstantRow> && hidden_.instants[s][i];
        if (is_hidden) continue;
        keys.push_back(
            {joined_.tracks[s][rows[i].track.index()], joined_.absolute(rows[i].time_ns), {s, i}});
      }
    }
    run_sort(std::span(keys), [](const Key& a, const Key& b) {
      return a.track != b.track ? a.track < b.track : a.time < b.time;
    });
    reserve_rows(table, keys.size());
    for (const Key& key : keys) {
      Row row = (joined_.stretches[key.place.stretch].*staged)[key.place.row];
      row.time_ns = key.time;
      row.track = key.track;
      adjust(row, key.place.stretch);
      map[key.place.stretch][key.place.row] = table.push_back(row).value();
      ask_for_big_columns(table, keys.size());
    }
  }

  void fill_allocations() {
    InnermostSpans spans(builder_.spans());
    fill_point_table(builder_.allocations(), &Staged::allocations, placed_.allocations,
                     [&](AllocationRow& row, std::size_t s) {
                       row.span = spans.around(row.track, row.time_ns);
                       if (row.stack.valid()) row.stack = joined_.stacks[s][row.stack.index()];
                     });
  }

  void fill_instants() {
    InnermostSpans spans(builder_.spans());
    fill_point_table(builder_.instants(), &Staged::instants, placed_.instants,
                     [&](InstantRow& row, std::size_t s) {
                       row.span = spans.around(row.track, row.time_ns);
                       row.name = text(s, row.name);
                       row.category = text(s, row.category);
                       read_texts(row, s);
                     });
  }

  void fill_counters() {
    fill_point_table(builder_.counters(), &Staged::counters, placed_.counters,
                     [this](CounterRow& row, std::size_t s) {
                       row.name = text(s, row.name);
                       row.series = text(s, row.series);
                       row.category = text(s, row.category);
                     });
  }

  void add_windows(ProcessId host) {
    for (const FoundWindow& window : windows_) {
      WindowRow row;
      row.process = host;
      row.start_ns = joined_.absolute(window.start);
      row.end_ns = joined_.absolute(window.end);
      row.closed_ns = joined_.absolute(window.closed);
      row.name = builder_.intern(window.name);
      const WindowId id = builder_.windows().push_back(row);
      if (!window.operator_count.empty()) {
        keep_extra(builder_, TableKind::Windows, id.value(), text_of(ArgKey::OpCount),
                   window.operator_count);
      }
    }
  }

  void add_metadata(ProcessId host) {
    for (const RawMember& member : parts_.metadata) {
      if (member.key == kLedgerKey && read_ledger(member.value)) continue;
      MetadataRow row;
      row.process = host;
      row.key = builder_.intern(decode_json_string(member.key));
      row.value = builder_.intern(valid_json(member.value));
      builder_.metadata().push_back(row);
      if (member.key == "distributedInfo") read_distributed(member.value);
      if (member.key == "host_name" && is_quoted(member.value)) {
        const StringId name = builder_.intern(decode_json_string(unquoted(member.value)));
        for_each_host([&](std::size_t i) { builder_.processes().host.set(i, name); });
      }
    }
  }

  // Reads what was lost before the trace became JSON. False if it is not in Sonde's form.
  bool read_ledger(std::string_view rows) {
    std::vector<LedgerRow> read;
    const bool is_whole = for_each_element(rows, [&](std::string_view text) {
      LedgerRow row;
      const bool is_row = for_each_member(text, [&](std::string_view key, std::string_view value) {
        return read_ledger_member(key, value, row);
      });
      if (is_row) read.push_back(row);
      return is_row;
    });
    if (!is_whole) return false;
    for (const LedgerRow& row : read) builder_.ledger().push_back(row);
    return true;
  }

  bool read_ledger_member(std::string_view key, std::string_view value, LedgerRow& row) {
    if (key == "kind") {
      const auto kind = parse_ledger_kind(unquoted(value));
      row.kind = kind.value_or(LedgerKind::Note);  // unknown kinds come from a later version
      return is_quoted(value);
    }
    if (key == "source" || key == "detail") {
      if (!is_quoted(value)) return false;
      (key == "source" ? row.source : row.detail) =
          builder_.intern(decode_json_string(unquoted(value)));
      return true;
    }
    const std::optional<std::int64_t> number = to_integer(value);
    if (key == "count") {
      row.count = static_cast<std::uint64_t>(number.value_or(0));
      return number && *number >= 0;
    }
    const auto& pids = builder_.processes().pid;
    for (std::size_t i = 0; key == "pid" && i < pids.size() && !row.process.valid(); ++i)
      if (pids[i] == number) row.process = ProcessId(static_cast<std::uint32_t>(i));
    return true;
  }

  template <typename Visit>
  void for_each_host(const Visit& visit) {
    const ProcessTable& processes = builder_.processes();
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (!processes.foreign_id[i].valid() && processes.pid[i] >= 0) visit(i);
    }
  }

  void read_distributed(std::string_view info) {
    for_each_member(info, [this](std::string_view key, std::string_view value) {
      const std::optional<std::int64_t> number = to_integer(value);
      if (!number || *number < 0 || *number > INT32_MAX) return true;
      const auto small = static_cast<std::int32_t>(*number);
      ProcessTable& processes = builder_.processes();
      if (key == "rank") for_each_host([&](std::size_t i) { processes.rank.set(i, small); });
      if (key == "world_size") {
        for_each_host([&](std::size_t i) { processes.world_size.set(i, small); });
      }
      return true;
    });
  }

  TraceBuilder& builder_;
  KinetoParts parts_;
  Joined joined_;
  Hidden hidden_;
  std::vector<FoundWindow> windows_;
  PlacedRows placed_;
  std::vector<SpanBefore> spans_before_;
  std::vector<ForeignFlow> foreign_flows_;
};

}  // namespace

void assemble(TraceBuilder& builder, KinetoParts parts, unsigned threads) {
  Assembler(builder, std::move(parts), threads).run();
}

}  // namespace sonde
