// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/recording_assembler.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/json.h"
#include "decode/collective_rows.h"
#include "decode/device_rows.h"
#include "decode/event_numbers.h"
#include "decode/gradient_flows.h"
#include "decode/losses.h"
#include "decode/module_spread.h"
#include "decode/note_decoder.h"
#include "decode/op_inputs_reader.h"
#include "decode/place_reader.h"
#include "file/trace_file.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

bool is_silent(const DecodedThread& decoded) {
  return decoded.spans.empty() && decoded.moments.empty();
}

bool is_silent(const ThreadCounts& counts) {
  return counts.spans_by_kind.empty() && counts.instants == 0 && counts.counters == 0 &&
         counts.allocations == 0;
}

// Leaves out tracks that would be empty: the thread of a source, Sonde's own and, in the trace of
// one window, threads that did nothing in it.
bool has_line(const DecodedThread& decoded, const RecordingFilter& filter, bool is_own) {
  return !is_silent(decoded) || (decoded.devices.words.empty() && filter.window < 0 && !is_own);
}

// The numbers in a list of JSON.
std::set<std::int64_t> numbers_in(std::string_view json) {
  std::set<std::int64_t> numbers;
  const char* at = json.data();
  const char* const end = at + json.size();
  while (at < end) {
    std::int64_t number = 0;
    const auto [stopped, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.insert(number);
    at = error == std::errc() ? stopped : at + 1;
  }
  return numbers;
}

// Joins the rows of all threads and turns names into strings.
class Assembler {
 public:
  Assembler(Recording& recording, const DecodeContext& context, std::int64_t last_external_id = 0)
      : recording_(recording),
        builder_(recording.builder),
        context_(context),
        places_(recording.builder, recording.places),
        devices_(recording, context),
        last_external_id_(last_external_id) {
    const ProcessBlock& process = recording.process;
    ProcessRow row;
    row.pid = process.pid;
    row.parent_pid = process.parent_pid;
    row.rank = process.rank;
    row.world_size = process.world_size;
    row.local_rank = process.local_rank;
    row.host = builder_.intern(process.host);
    row.name = builder_.intern(process.name);
    row.clock_error_ns = context.clock->error_ns();
    process_ = builder_.processes().push_back(row);
    devices_.begin(process_);
    for (const MetadataBlock& item : recording.metadata) {
      if (item.key == kPartialStepsKey) partial_steps_ = numbers_in(item.json);  // a later one wins
    }
  }

  void add_windows() {
    for (const TickWindow& window : context_.windows) {
      WindowRow row;
      row.process = process_;
      row.start_ns = context_.clock->to_ns(window.start_ticks);
      row.end_ns = context_.clock->to_ns(std::min(window.end_ticks, context_.last_ticks));
      row.end_ns = std::max(row.start_ns, row.end_ns);
      row.first_step = window.first_step;
      builder_.windows().push_back(row);
    }
  }

  TrackId track_of(std::uint64_t thread) {
    const auto [found, added] = tracks_.try_emplace(thread);
    if (added) {
      const ThreadInfo& info = recording_.threads[thread];
      TrackRow row;
      row.process = process_;
      row.id = info.kernel_id;
      row.name = info.name;
      found->second = builder_.tracks().push_back(row);
    }
    return found->second;
  }

  void add_thread_without_line(DecodedThread&& decoded) {
    devices_.add_words(std::move(decoded.devices.words));
    count_losses(decoded);
  }

  void add_thread(std::uint64_t thread, DecodedThread&& decoded) {
    const TrackId track = track_of(thread);
    SpanTable& spans = builder_.spans();
    const auto first = static_cast<std::uint32_t>(spans.size());
    const std::size_t count = decoded.spans.size();
    name_spans(decoded);
    SpanTable local;
    local.visit_columns([](const char*, auto& column) { column.pack(); });
    if (recording_.names.has_sites()) {
      fill_from_names(local.source_function, decoded.spans.name, &NameInfo::function);
      fill_from_names(local.source_file, decoded.spans.name, &NameInfo::file);
      fill_from_names(local.source_line, decoded.spans.name, &NameInfo::line);
    }
    // A table shows partial steps by their own name.
    if (context_.purpose == ReadFor::Everything || !partial_steps_.empty())
      fill_steps(local.step, decoded);
    local.parent = std::move(decoded.spans.parent);
    shift(local.parent, first);
    local.start_ns = std::move(decoded.spans.start_ns);
    local.duration_ns = std::move(decoded.spans.duration_ns);
    local.kind = std::move(decoded.spans.kind);
    local.flags = std::move(decoded.spans.flags);
    local.track.fill(track, count);
    local.window = std::move(decoded.spans.window);
    if (!decoded.spans.ended_elsewhere.empty()) {
      local.end_track.resize(count);
      for (const auto& [row, ender] : decoded.spans.ended_elsewhere) {
        if (!is_own(ender)) local.end_track.set(row, track_of(ender));
      }
    }
    add_ops(decoded, local, count);
    add_places(decoded, local, count);
    add_categories(decoded, local, count);
    devices_.add_calls(decoded.devices.api_calls, local, first, last_external_id_);
    devices_.add_graph_nodes(decoded.devices.graph_nodes, first);
    devices_.add_words(std::move(decoded.devices.words));
    decoded.spans.name.change_stretches([this](std::size_t, StringId* names, std::size_t rows) {
      for (std::size_t i = 0; i < rows; ++i) names[i] = recording_.names[names[i].value()].name;
      return true;
    });
    local.name = std::move(decoded.spans.name);
    rename_partial_steps(local);
    fill_rest(local, count);
    spans.append(std::move(local));
    const auto first_instant = static_cast<std::uint32_t>(builder_.instants().size());
    add_moments(decoded, track, first);
    add_notes(decoded, first, first_instant);
    add_memory(decoded, track, first);
    if (decoded.logical_thread != 0)
      builder_.tracks().logical_id.set(track, decoded.logical_thread);
    count_losses(decoded);
  }

  // Whether it is a thread of Sonde's.
  bool is_own(std::uint64_t thread) const {
    const auto found = recording_.threads.find(thread);
    return found != recording_.threads.end() && found->second.name.valid() &&
           builder_.strings()[found->second.name] == kAgentThread;
  }
  bool is_partial_step(std::int64_t number) const { return partial_steps_.count(number) != 0; }

  // As many rows as the thread's events would give.
  void add_counted_thread(const ThreadCounts& thread, TraceCounts& counts) {
    recording_.threads[thread.thread] = {static_cast<std::int64_t>(thread.kernel_id),
                                         builder_.intern(thread.name)};
    const TrackId track = track_of(thread.thread);
    if (thread.logical_thread != 0)
      builder_.tracks().logical_id.set(track, static_cast<std::int64_t>(thread.logical_thread));
    std::uint64_t spans = 0;
    for (const auto& [kind, count] : thread.spans_by_kind) {
      counts.spans_by_kind[static_cast<SpanKind>(kind)] += count;
      spans += count;
    }
    counts.spans += spans;
    counts.spans_of_track.push_back(spans);
    counts.instants += thread.instants;
    counts.counters += thread.counters;
    counts.allocations += thread.allocations;
    unfinished_ += thread.unfinished;
    out_of_window_ += thread.out_of_window;
    unmatched_ += thread.unmatched;
    cut_texts_ += thread.cut_texts;
  }

  void add_asyncs() {
    if (async_begins_.empty()) return;
    TrackRow row;
    row.process = process_;
    row.kind = TrackKind::Async;
    row.name = builder_.intern("async");
    const TrackId track = builder_.tracks().push_back(row);
    std::sort(async_begins_.begin(), async_begins_.end(),
              [](const auto& a, const auto& b) { return a.edge.ticks < b.edge.ticks; });
    for (const AsyncBegin& begin : async_begins_) {
      const NameInfo& name = recording_.names[begin.edge.name];
      SpanRow span;
      span.track = track;
      span.kind = SpanKind::Async;
      span.flags = SpanFlags::kAsync;
      span.name = name.name;
      span.source_file = name.file;
      span.source_function = name.function;
      span.source_line = name.line;
      span.start_ns = context_.clock->to_ns(begin.edge.ticks);
      const TickWindow& window = context_.windows[begin.edge.window];
      if (context_.windows.size() > 1) span.window = WindowId(window.row);
      std::uint64_t until = std::min(window.end_ticks, context_.last_ticks);
      const auto end = async_ends_.find(begin.edge.id);
      if (end != async_ends_.end() && end->second.first <= window.end_ticks) {
        until = end->second.first;
        span.end_track = end->second.second;
      } else {
        span.flags |= SpanFlags::kUnfinished;
        ++unfinished_;
      }
      Nanos duration = 0;
      const Nanos end_ns = context_.clock->to_ns(until);
      if (!__builtin_sub_overflow(end_ns, span.start_ns, &duration))
        span.duration_ns = std::max<Nanos>(0, duration);
      builder_.spans().push_back(span);
    }
  }

  void add_devices(bool cut_short) {
    devices_.finish(cut_short);
    collectives_.add_kernels();
  }

  void spread_modules() {
    if (has_modules_) sonde::spread_modules(builder_);
  }

  void add_flows() {
    for (const auto& [id, ends] : flows_) {
      FlowRow row;
      row.id = static_cast<std::int64_t>(id);
      for (const FlowEnd& end : ends) {
        if (end.end.out) {
          row.from_span = end.span;
          row.from_track = end.track;
          row.from_ns = end.end.time_ns;
        }
      }
      bool arrived = false;
      for (const FlowEnd& end : ends) {
        if (end.end.out) continue;
        row.to_span = end.span;
        row.to_track = end.track;
        row.to_ns = end.end.time_ns;
        builder_.flows().push_back(row);
        arrived = true;
      }
      if (!arrived) builder_.flows().push_back(row);
    }
  }

  void add_gradient_flows() { sonde::add_gradient_flows(builder_); }

  void number_events() {
    number_python_calls(builder_);
    const bool is_wanted =
        std::any_of(recording_.metadata.begin(), recording_.metadata.end(),
                    [](const MetadataBlock& item) { return item.key == kNumberedEventsKey; });
    if (is_wanted) sonde::number_events(builder_);
  }

  void add_metadata_and_ledger(const BlockFile& file, const RecordingFilter& filter) {
    std::map<std::string, std::string> last;  // a later value wins
    for (MetadataBlock& item : recording_.metadata) last[item.key] = std::move(item.json);
    for (const auto& [key, json] : last) {
      if (!validate_json(json)) {
        ++undecodable_;
        continue;
      }
      builder_.metadata().push_back({process_, builder_.intern(key), builder_.intern(json)});
    }
    // The writer stores its sums after every window; the last ones count. A truncated file may hold
    // more events than its sums say, so for such a file they are counted here.
    const bool told_losses = file.sealed() || filter.still_written;
    std::map<std::tuple<LedgerKind, std::string, std::string>, std::uint64_t> rows;
    for (const LedgerBlock& item : recording_.ledger) {
      const auto kind = static_cast<LedgerKind>(item.kind);
      if (!is_known(kind) || (kind == LedgerKind::EventsWritten && !told_losses)) continue;
      rows[{kind, item.source, item.detail}] = item.count;
    }
    if (recording_.told) {
      for_each_loss(recording_.told->in_buffers, recording_.told->dropped,
                    [&](LedgerKind kind, std::uint64_t count, const char* detail) {
                      if (count > 0) rows[{kind, "collect", detail}] = count;
                    });
    }
    for (const auto& [key, count] : rows) {
      builder_.add_ledger(std::get<0>(key), count, std::get<1>(key), std::get<2>(key), process_);
    }
    const auto note = [&](LedgerKind kind, std::uint64_t count, std::string_view detail) {
      if (count > 0) builder_.add_ledger(kind, count, "reader", detail, process_);
    };
    if (!told_losses) {
      note(LedgerKind::EventsWritten, records_, "counted in a file that was cut short");
      if (!recording_.told)
        note(LedgerKind::DroppedByBudget, lost_,
             "according to the buffers; the last moment is not counted");
    }
    note(LedgerKind::Unfinished, unfinished_, "spans whose end was not seen");
    note(LedgerKind::OutOfWindow, out_of_window_, "events outside the windows");
    note(LedgerKind::Unmatched, unmatched_, "ends whose beginning is missing");
    note(LedgerKind::Undecodable, undecodable_ + recording_.undecodable, "invalid events");
    note(LedgerKind::TextsCut, cut_texts_ + recording_.cut_names, "only their beginnings are kept");
    builder_.add_ledger(LedgerKind::ClockErrorNs,
                        static_cast<std::uint64_t>(context_.clock->error_ns()), "reader", {},
                        process_);
    add_file_damage(builder_, file,
                    {.still_written = filter.still_written, .has_buffers = recording_.has_buffers});
  }

 private:
  struct AsyncBegin {
    DecodedMoments::AsyncEdge edge;
  };
  struct FlowEnd {
    DecodedMoments::FlowEnd end;
    SpanId span;
    TrackId track;
  };

  // Gives names that are in the words themselves a number like the others.
  void name_spans(DecodedThread& decoded) {
    for (const DecodedNotes::Text& named : decoded.notes.names) {
      NameInfo info;
      info.name = builder_.intern(named.text);
      info.step = step_number(named.text);
      if (info.step >= 0) decoded.spans.kind.set(named.span, SpanKind::Step);
      decoded.spans.name.set(named.span, StringId(recording_.names.add(info)));
    }
  }

  template <typename T>
  void fill_from_names(Column<T>& column, const Column<StringId>& numbers,
                       T NameInfo::* member) const {
    numbers.visit_stretches([&](std::size_t, const StringId* number, std::size_t rows) {
      for (std::size_t i = 0; i < rows; ++i)
        column.push_back(recording_.names[number[i].value()].*member);
    });
  }

  void fill_steps(Column<std::int64_t>& steps, const DecodedThread& decoded) const {
    decoded.spans.kind.visit_stretches(
        [&](std::size_t first, const SpanKind* kinds, std::size_t rows) {
          for (std::size_t i = 0; i < rows; ++i) {
            if (kinds[i] != SpanKind::Step) continue;
            steps.resize(first + i);
            steps.push_back(recording_.names[decoded.spans.name[first + i].value()].step);
          }
        });
    steps.resize(decoded.spans.size());
  }

  // A step that did not end does not count as a step.
  void rename_partial_steps(SpanTable& local) {
    if (partial_steps_.empty() || !local.step.materialised()) return;
    for (std::size_t i = 0; i < local.step.size(); ++i) {
      if (partial_steps_.count(local.step[i]) == 0) continue;
      local.kind.set(i, SpanKind::UserAnnotation);
      local.step.set(i, -1);
      local.name.set(i, builder_.intern(kAfterLastStep));
    }
  }

  // The autograd engine's call around a gradient has the numbers of the gradient, as in PyTorch.
  void number_evaluations(DecodedThread& decoded, const SpanTable& local) const {
    DecodedOps& ops = decoded.ops;
    if (!ops.has_gradients) return;
    const auto is_op = [&](std::size_t row) {
      return local.kind[row] == SpanKind::CpuOp || ops.scope[row] == RecordScope::UserScope;
    };
    std::size_t last = ops.scope.size();  // the operator before
    for (std::size_t row = 0; row < ops.scope.size(); ++row) {
      if (!is_op(row)) continue;
      const std::size_t op = std::exchange(last, row);
      if (op == ops.scope.size() || ops.scope[op] != RecordScope::Function ||
          ops.scope[row] != RecordScope::BackwardFunction)
        continue;
      const StringId name = recording_.names[decoded.spans.name[op].value()].name;
      if (!builder_.strings()[name].starts_with(kEvaluateFunction)) continue;
      ops.sequence_number.set(op, ops.sequence_number[row]);
      ops.forward_thread.set(op, ops.forward_thread[row]);
    }
  }

  void add_ops(DecodedThread& decoded, SpanTable& local, std::size_t count) {
    DecodedOps& ops = decoded.ops;
    if (ops.count == 0) return;
    number_evaluations(decoded, local);
    if (recording_.names.has_overloads())
      fill_from_names(local.overload_name, decoded.spans.name, &NameInfo::overload);
    if (ops.forward_thread.materialised()) {
      for (std::size_t i = 0; i < ops.forward_thread.size(); ++i) {
        if (ops.sequence_number[i] < 0) ops.forward_thread.set(i, 0);
      }
    }
    add_external_ids(ops);
    add_arguments(ops);
    const auto take = [count](auto& to, auto& from) {
      from.resize(count);
      to = std::move(from);
    };
    take(local.scope, ops.scope);
    take(local.sequence_number, ops.sequence_number);
    take(local.forward_thread, ops.forward_thread);
    take(local.record_function_id, ops.record_function_id);
    take(local.external_id, ops.external_id);
    take(local.arguments, ops.arguments);
  }

  // Each thread counts from 1; here the numbers continue from thread to thread.
  void add_external_ids(DecodedOps& ops) {
    if (last_external_id_ > 0) {
      ops.external_id.change_stretches([this](std::size_t, std::int64_t* ids, std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i) ids[i] += ids[i] != 0 ? last_external_id_ : 0;
        return true;
      });
    }
    last_external_id_ += ops.count;
  }

  // Maps numbers of the thread's own texts to lists.
  void add_arguments(DecodedOps& ops) {
    if (ops.input_texts.empty()) return;
    std::vector<ArgumentListId> lists;
    lists.reserve(ops.input_texts.size());
    for (const std::string& text : ops.input_texts) lists.push_back(arguments_of(text));
    ops.arguments.change_stretches(
        [&lists](std::size_t, ArgumentListId* arguments, std::size_t rows) {
          for (std::size_t i = 0; i < rows; ++i) {
            if (arguments[i].valid()) arguments[i] = lists[arguments[i].index()];
          }
          return true;
        });
  }

  void add_places(const DecodedThread& decoded, SpanTable& local, std::size_t count) {
    if (decoded.ops.places.empty()) return;
    local.stack.resize(count);
    local.module.resize(count);
    for (const DecodedOps::Place& place : decoded.ops.places) {
      local.stack.set(place.span, places_.stack(place.stack));
      if (place.module == 0) continue;
      local.module.set(place.span, places_.module(place.module));
      has_modules_ = true;
    }
  }

  // Threads run the same operators, so they share lists.
  ArgumentListId arguments_of(const std::string& text) {
    const auto [found, is_new] = lists_.try_emplace(text);
    if (is_new) {
      found->second = read_op_inputs(builder_, text, [this](std::uint64_t id) {
        return recording_.names[recording_.names.find(id)].name;
      });
      if (!found->second.valid()) ++undecodable_;
    }
    return found->second;
  }

  void add_memory(DecodedThread& decoded, TrackId track, std::uint32_t first) {
    AllocationTable& allocations = decoded.moments.allocations;
    shift(allocations.span, first);
    allocations.track.clear();
    allocations.track.fill(track, allocations.size());
    builder_.allocations().append(std::move(allocations));
    shift(decoded.ops.tensors.span, first);
    builder_.tensor_uses().append(std::move(decoded.ops.tensors));
    for (const DecodedMoments::Role& role : decoded.moments.roles) {
      builder_.tensor_roles().push_back({.time_ns = role.time_ns,
                                         .track = track,
                                         .purpose = role.purpose,
                                         .name = recording_.names[role.name].name,
                                         .storage_address = role.storage});
    }
  }

  static void shift(Column<SpanId>& spans, std::uint32_t by) {
    if (by == 0) return;
    spans.change_stretches([by](std::size_t, SpanId* values, std::size_t rows) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (values[i].valid()) values[i] = SpanId(values[i].value() + by);
      }
      return true;
    });
  }

  // Columns without values only count their rows.
  static void fill_rest(SpanTable& local, std::size_t count) {
    local.visit_columns([count](const auto&, auto& column) {
      if (column.size() != count) column.resize(count);
    });
  }

  void add_moments(const DecodedThread& decoded, TrackId track, std::uint32_t first) {
    const auto span_of = [first](std::uint32_t row) {
      return row == SpanId::kInvalid ? SpanId() : SpanId(first + row);
    };
    for (const auto& instant : decoded.moments.instants) {
      const NameInfo& name = recording_.names[instant.name];
      InstantRow row;
      row.time_ns = instant.time_ns;
      row.track = track;
      row.name = name.name;
      row.span = span_of(instant.span);
      row.source_file = name.file;
      row.source_line = name.line;
      builder_.instants().push_back(row);
    }
    for (const auto& counter : decoded.moments.counters) {
      CounterRow row;
      row.time_ns = counter.time_ns;
      row.track = track;
      row.name = recording_.names[counter.name].name;
      row.value = counter.value;
      builder_.counters().push_back(row);
    }
    for (const auto& flow : decoded.moments.flows)
      flows_[flow.id].push_back({flow, span_of(flow.span), track});
    for (const auto& edge : decoded.moments.asyncs) {
      if (edge.begin) {
        async_begins_.push_back({edge});
      } else {
        async_ends_[edge.id] = {edge.ticks, track};
      }
    }
  }

  // `first_instant` is the row of the thread's first instant.
  void add_notes(const DecodedThread& decoded, std::uint32_t first, std::uint32_t first_instant) {
    for (const DecodedNotes::Text& text : decoded.notes.texts) {
      builder_.extras().push_back({TableKind::Spans, first + text.span, builder_.intern("args"),
                                   builder_.intern(json_string(text.text))});
    }
    for (const DecodedNotes::Argument& argument : decoded.notes.arguments) {
      const auto [row, is_instant] = argument.owner;
      if (!is_instant &&
          collectives_.add(SpanId(first + row), recording_.names[argument.key].name, argument))
        continue;
      builder_.extras().push_back({is_instant ? TableKind::Instants : TableKind::Spans,
                                   row + (is_instant ? first_instant : first),
                                   recording_.names[argument.key].name,
                                   builder_.intern(json_value(argument))});
    }
    for (const DecodedNotes::Category& category : decoded.notes.categories) {
      if (!category.owner.is_instant) continue;
      builder_.instants().category.set(first_instant + category.owner.row,
                                       recording_.names[category.name].name);
    }
  }

  void add_categories(const DecodedThread& decoded, SpanTable& local, std::size_t count) {
    for (const DecodedNotes::Category& category : decoded.notes.categories) {
      if (category.owner.is_instant) continue;
      if (local.category.size() != count) local.category.resize(count);
      local.category.set(category.owner.row, recording_.names[category.name].name);
    }
  }

  void count_losses(const DecodedThread& decoded) {
    cut_texts_ += decoded.notes.cut;
    records_ += decoded.counts.records;
    unfinished_ += decoded.counts.unfinished;
    out_of_window_ += decoded.counts.out_of_window;
    unmatched_ += decoded.counts.unmatched;
    undecodable_ += decoded.counts.undecodable;
    lost_ += decoded.counts.lost;
  }

  Recording& recording_;
  TraceBuilder& builder_;
  const DecodeContext& context_;
  ProcessId process_;
  std::set<std::int64_t> partial_steps_;
  std::map<std::uint64_t, TrackId> tracks_;
  std::vector<AsyncBegin> async_begins_;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, TrackId>> async_ends_;
  std::map<std::uint64_t, std::vector<FlowEnd>> flows_;
  CollectiveRows collectives_{builder_};
  std::unordered_map<std::string, ArgumentListId> lists_;
  PlaceReader places_;
  DeviceRows devices_;
  bool has_modules_ = false;
  std::int64_t last_external_id_;
  std::uint64_t records_ = 0;
  std::uint64_t unfinished_ = 0;
  std::uint64_t out_of_window_ = 0;
  std::uint64_t unmatched_ = 0;
  std::uint64_t undecodable_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t cut_texts_ = 0;
};

}  // namespace

TraceCounts assemble_counted(Recording& recording, const DecodeContext& context,
                             const BlockFile& file) {
  Assembler assembler(recording, context);
  assembler.add_windows();
  TraceCounts counts;
  std::sort(recording.thread_counts.begin(), recording.thread_counts.end(),
            [](const auto& a, const auto& b) { return a.thread < b.thread; });
  for (const ThreadCounts& thread : recording.thread_counts) {
    if (thread.name != kAgentThread || !is_silent(thread))
      assembler.add_counted_thread(thread, counts);
  }
  for (const StepMark& step : recording.steps) {
    if (assembler.is_partial_step(static_cast<std::int64_t>(step.number))) {
      --counts.spans_by_kind[SpanKind::Step];
      ++counts.spans_by_kind[SpanKind::UserAnnotation];
      continue;
    }
    const Nanos start_ns = context.clock->to_ns(step.begin_ticks);
    const Nanos end_ns = context.clock->to_ns(step.end_ticks);
    counts.steps.add(static_cast<std::int64_t>(step.number), std::max(end_ns, start_ns) - start_ns);
  }
  if (const auto& said = recording.counts; said) {
    if (said->has_flows != 0) counts.flows = std::nullopt;
    recording.cut_names = said->cut_names;
  }
  assembler.add_metadata_and_ledger(file, {});
  return counts;
}

void assemble(Recording& recording, const DecodeContext& context,
              std::vector<std::pair<std::uint64_t, DecodedThread>> threads, const BlockFile& file,
              const RecordingFilter& filter) {
  Assembler assembler(recording, context, filter.last_external_id);
  assembler.add_windows();
  // Makes all tracks before any of them is named as the end of another track's span.
  for (const auto& [thread, decoded] : threads) {
    if (has_line(decoded, filter, assembler.is_own(thread))) assembler.track_of(thread);
  }
  for (auto& [thread, decoded] : threads) {
    if (has_line(decoded, filter, assembler.is_own(thread))) {
      assembler.add_thread(thread, std::move(decoded));
    } else {
      assembler.add_thread_without_line(std::move(decoded));
    }
  }
  assembler.add_asyncs();
  assembler.add_devices(!file.sealed() && !filter.still_written);
  assembler.spread_modules();
  assembler.add_flows();
  assembler.add_gradient_flows();
  assembler.number_events();
  assembler.add_metadata_and_ledger(file, filter);
}

}  // namespace sonde
