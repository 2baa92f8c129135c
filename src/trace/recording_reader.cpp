// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recording_reader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/parallel.h"
#include "sonde/trace_builder.h"
#include "trace/live_buffers.h"
#include "trace/thread_decoder.h"
#include "trace/trace_file.h"
#include "wire/blocks.h"
#include "wire/dictionary.h"

namespace sonde {
namespace {

// What a small file may expand to; beyond that, a file that expands more than so many times is
// taken for one that was made to exhaust memory. Words take up to 8 times what their block does.
constexpr std::uint64_t kFreelyExpanded = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxExpansion = 128;

struct ThreadInfo {
  std::int64_t kernel_id = 0;
  StringId name;
};

// Everything a recording's blocks and live buffers say, before it is put in order.
struct Recording {
  TraceBuilder builder;
  ProcessBlock process;
  std::vector<ClockAnchor> anchors;
  std::vector<MetadataBlock> metadata;
  std::vector<LedgerBlock> ledger;
  std::map<std::uint32_t, std::pair<WindowBlock, std::optional<WindowBlock>>> windows;
  std::map<std::uint64_t, ThreadInfo> threads;
  NameTable names;
  std::vector<Piece> pieces;
  std::uint64_t undecodable = 0;
};

std::int64_t step_number(std::string_view name) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (name.substr(0, kPrefix.size()) != kPrefix) return -1;
  name.remove_prefix(kPrefix.size());
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() ? step : -1;
}

void add_dictionary(Recording& recording, std::span<const std::uint8_t> bytes) {
  const std::size_t understood = read_dictionary(bytes, [&](const DictionaryEntry& entry) {
    if (entry.kind == DictionaryKind::Thread) {
      recording.threads[entry.id] = {static_cast<std::int64_t>(entry.number),
                                     recording.builder.intern(entry.name)};
      return;
    }
    NameInfo info;
    info.name = recording.builder.intern(entry.name);
    if (entry.kind == DictionaryKind::Site) {
      info.function = recording.builder.intern(entry.function);
      info.file = recording.builder.intern(entry.file);
      info.line = static_cast<std::int32_t>(std::min<std::uint64_t>(entry.number, 0x7fffffff));
    }
    info.step = step_number(entry.name);
    recording.names.set(entry.id, info);
  });
  if (understood != bytes.size()) ++recording.undecodable;
}

template <typename Item>
void read_items(std::span<const std::uint8_t> payload, Recording& recording,
                std::vector<Item>& items) {
  ByteReader in(payload);
  while (in.ok() && !in.at_end()) {
    Item item = Item::read(in);
    if (in.ok()) items.push_back(std::move(item));
  }
  if (!in.ok()) ++recording.undecodable;
}

// Times since boot and since 1970, such that no sum of them overflows.
bool makes_sense(const ClockAnchor& anchor) {
  constexpr std::int64_t kLatest = std::int64_t{1} << 62;
  return anchor.monotonic_ns >= 0 && anchor.monotonic_ns < kLatest / 2 && anchor.realtime_ns >= 0 &&
         anchor.realtime_ns < kLatest;
}

void add_small_block(Recording& recording, BlockKind kind, std::span<const std::uint8_t> payload) {
  switch (kind) {
    case BlockKind::Process: {
      std::vector<ProcessBlock> processes;
      read_items(payload, recording, processes);
      if (!processes.empty()) recording.process = processes.back();
      break;
    }
    case BlockKind::Anchors: {
      std::vector<AnchorBlock> anchors;
      read_items(payload, recording, anchors);
      for (const AnchorBlock& a : anchors) {
        if (makes_sense(a.anchor)) {
          recording.anchors.push_back(a.anchor);
        } else {
          ++recording.undecodable;
        }
      }
      break;
    }
    case BlockKind::Windows: {
      std::vector<WindowBlock> windows;
      read_items(payload, recording, windows);
      for (const WindowBlock& w : windows) {
        if (w.is_end == 0) {
          recording.windows.try_emplace(w.index, w, std::nullopt);
        } else if (const auto found = recording.windows.find(w.index);
                   found != recording.windows.end()) {
          found->second.second = w;
        }
      }
      break;
    }
    case BlockKind::Metadata:
      read_items(payload, recording, recording.metadata);
      break;
    case BlockKind::Ledger:
      read_items(payload, recording, recording.ledger);
      break;
    case BlockKind::Dictionary:
      add_dictionary(recording, payload);
      break;
    default:
      break;
  }
}

// The pieces of an Events block, up to where they stop making sense; what is wrong there, if so.
std::string split_events(std::span<const std::uint8_t> payload, std::vector<Piece>& pieces) {
  ByteReader in(payload);
  while (!in.at_end()) {
    const auto bytes = in.bytes(in.read<std::uint32_t>());
    if (!in.ok()) return "an events block ends inside a piece";
    Piece piece;
    const auto head = decode_events(bytes, piece.words);
    if (!head) return head.error().message;
    piece.head = *head;
    pieces.push_back(std::move(piece));
  }
  return {};
}

void read_blocks(const BlockFile& file, Recording& recording) {
  std::vector<std::size_t> events;
  std::vector<std::uint8_t> scratch;
  std::uint64_t left = kFreelyExpanded + kMaxExpansion * file.file_bytes();
  for (std::size_t i = 0; i < file.blocks().size(); ++i) {
    const BlockFile::Block& block = file.blocks()[i];
    if (block.kind == BlockKind::Index) continue;
    if (block.payload_bytes > left) {
      recording.builder.add_ledger(LedgerKind::DamagedBytes, block.stored_bytes, file.name(),
                                   "expands to more than a file of this size can hold");
      continue;
    }
    left -= block.payload_bytes;
    if (block.kind == BlockKind::Events) {
      events.push_back(i);
      continue;
    }
    if (const auto payload = file.payload(block, scratch)) {
      add_small_block(recording, block.kind, *payload);
    } else {
      recording.builder.add_ledger(LedgerKind::DamagedBytes, block.stored_bytes, file.name(),
                                   payload.error().message);
    }
  }
  std::vector<std::vector<Piece>> pieces(events.size());
  std::vector<std::string> errors(events.size());
  parallel_for(events.size(), [&](std::size_t i) {
    std::vector<std::uint8_t> space;
    const auto payload = file.payload(file.blocks()[events[i]], space);
    if (!payload) {
      errors[i] = payload.error().message;
      return;
    }
    errors[i] = split_events(*payload, pieces[i]);
  });
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (Piece& piece : pieces[i]) recording.pieces.push_back(std::move(piece));
    if (errors[i].empty()) continue;
    const BlockFile::Block& block = file.blocks()[events[i]];
    recording.builder.add_ledger(
        LedgerKind::DamagedBytes, block.stored_bytes, file.name(),
        errors[i] + " (block at byte " + std::to_string(block.offset) + ")");
  }
}

// Opening a pipe would wait for its other end.
Result<LiveBuffers> open_live(const std::string& path, std::uint64_t stream) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return Failure(ErrorCode::NotFound, path + ": is not there");
  return LiveBuffers::open(path, stream);
}

// What a process that did not end well left in its live buffers.
void read_live_buffers(const BlockFile& file, Recording& recording) {
  if (file.sealed() || recording.process.live_name.empty()) return;
  // Its name alone: what a file says must not lead us elsewhere.
  const std::filesystem::path beside =
      std::filesystem::path(file.name()).parent_path() /
      std::filesystem::path(recording.process.live_name).filename();
  auto live = open_live(beside.string(), recording.process.stream);
  if (!live) live = open_live(recording.process.live_path, recording.process.stream);
  if (!live) {
    recording.builder.add_ledger(LedgerKind::Truncated, 1, file.name(),
                                 "what was still in memory is missing: " + live.error().message);
    return;
  }
  for (const auto& dictionary : live->dictionaries) add_dictionary(recording, dictionary);
  for (Piece& piece : live->pieces) recording.pieces.push_back(std::move(piece));
  recording.builder.add_ledger(LedgerKind::Note, 1, file.name(),
                               "its end was recovered from " + recording.process.live_name +
                                   ": keep the two files together");
}

// What must be known of all threads before any is decoded.
struct Survey {
  std::unordered_map<std::uint64_t, ForeignEnds> foreign_ends;  // by the thread that began
  std::uint64_t last_ticks = 0;
};

Survey survey(const std::vector<Piece>& pieces) {
  std::vector<Survey> parts(pieces.size());
  parallel_for(pieces.size(), [&](std::size_t p) {
    const Piece& piece = pieces[p];
    Survey& part = parts[p];
    const auto& words = piece.words;
    for (std::size_t i = 0; i < words.size(); i += 1 + detail::payload_words(words[i])) {
      if (detail::word_kind(words[i]) == detail::WordKind::Extended &&
          detail::extended_kind(words[i]) == detail::ExtendedKind::EndRangeOf &&
          detail::payload_words(words[i]) >= 2 && i + 2 < words.size()) {
        part.foreign_ends[words[i + 2]][words[i + 1]] = {
            full_ticks(words[i], piece.head.base_ticks), piece.head.thread};
      }
      part.last_ticks = full_ticks(words[i], piece.head.base_ticks);
    }
  });
  Survey sum;
  for (Survey& part : parts) {
    sum.last_ticks = std::max(sum.last_ticks, part.last_ticks);
    for (auto& [thread, ends] : part.foreign_ends) sum.foreign_ends[thread].merge(ends);
  }
  return sum;
}

std::vector<TickWindow> tick_windows(const Recording& recording, const RecordingFilter& filter) {
  std::vector<TickWindow> windows;
  for (const auto& [index, window] : recording.windows) {
    if (filter.window >= 0 && index != static_cast<std::uint32_t>(filter.window)) continue;
    const std::uint64_t end = window.second ? window.second->ticks : ~std::uint64_t{0};
    if (end < window.first.ticks) continue;
    windows.push_back({window.first.ticks, end, 0, window.first.first_step});
  }
  std::sort(windows.begin(), windows.end(),
            [](const auto& a, const auto& b) { return a.start_ticks < b.start_ticks; });
  // One whose end is missing lasts until the next begins.
  const auto same_start = [](const auto& a, const auto& b) {
    return a.start_ticks == b.start_ticks;
  };
  windows.erase(std::unique(windows.begin(), windows.end(), same_start), windows.end());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows[i].row = static_cast<std::uint32_t>(i);
    if (i > 0)
      windows[i - 1].end_ticks = std::min(windows[i - 1].end_ticks, windows[i].start_ticks - 1);
  }
  // A file whose windows are damaged is shown whole.
  if (windows.empty() && filter.window < 0) windows.push_back({0, ~std::uint64_t{0}, 0, 0});
  return windows;
}

// Joins the threads' rows to one table and turns names into strings.
class Assembler {
 public:
  Assembler(Recording& recording, const DecodeContext& context)
      : recording_(recording), builder_(recording.builder), context_(context) {
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

  void add_thread(std::uint64_t thread, DecodedThread&& decoded) {
    const TrackId track = track_of(thread);
    SpanTable& spans = builder_.spans();
    const auto first = static_cast<std::uint32_t>(spans.size());
    const std::size_t count = decoded.start_ns.size();
    name_spans(decoded);
    SpanTable local;
    local.name.assign(names_of(decoded.name, &NameInfo::name));
    local.source_function.assign(names_of(decoded.name, &NameInfo::function));
    local.source_file.assign(names_of(decoded.name, &NameInfo::file));
    local.source_line.assign(names_of(decoded.name, &NameInfo::line));
    local.step.assign(steps_of(decoded));
    decoded.name = {};
    std::vector<SpanId> parents(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (decoded.parent[i] != SpanId::kInvalid) parents[i] = SpanId(first + decoded.parent[i]);
    }
    decoded.parent = {};
    local.parent.assign(std::move(parents));
    local.start_ns.assign(std::move(decoded.start_ns));
    local.duration_ns.assign(std::move(decoded.duration_ns));
    local.kind.assign(std::move(decoded.kind));
    local.flags.assign(std::move(decoded.flags));
    local.track.assign(std::vector<TrackId>(count, track));
    if (!decoded.window.empty()) {
      std::vector<WindowId> windows(count);
      for (std::size_t i = 0; i < count; ++i)
        windows[i] = WindowId(context_.windows[decoded.window[i]].row);
      local.window.assign(std::move(windows));
    }
    if (!decoded.ended_elsewhere.empty()) {
      local.end_track.resize(count);
      for (const auto& [row, ender] : decoded.ended_elsewhere)
        local.end_track.set(row, track_of(ender));
    }
    fill_rest(local, count);
    spans.append(std::move(local));
    add_moments(decoded, track, first);
    count_losses(decoded);
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
    // The writer tells its sums after every window: the last ones count. A file that was cut short
    // may hold more events than it told of, so there we count for ourselves.
    const bool told_losses = file.sealed() || filter.still_written;
    std::map<std::tuple<LedgerKind, std::string, std::string>, std::uint64_t> rows;
    for (const LedgerBlock& item : recording_.ledger) {
      const auto kind = static_cast<LedgerKind>(item.kind);
      if (!is_known(kind) || (kind == LedgerKind::EventsWritten && !told_losses)) continue;
      rows[{kind, item.source, item.detail}] = item.count;
    }
    for (const auto& [key, count] : rows) {
      builder_.add_ledger(std::get<0>(key), count, std::get<1>(key), std::get<2>(key), process_);
    }
    const auto note = [&](LedgerKind kind, std::uint64_t count, std::string_view detail) {
      if (count > 0) builder_.add_ledger(kind, count, "reader", detail, process_);
    };
    if (!told_losses) {
      note(LedgerKind::EventsWritten, records_, "as found in a file that was cut short");
      note(LedgerKind::DroppedByBudget, lost_,
           "as the buffers tell; those of the last moment are not counted");
    }
    note(LedgerKind::Unfinished, unfinished_, "spans whose end was not seen");
    note(LedgerKind::OutOfWindow, out_of_window_, "events outside the windows");
    note(LedgerKind::Unmatched, unmatched_, "ends whose beginning is missing");
    note(LedgerKind::Undecodable, undecodable_ + recording_.undecodable,
         "events that make no sense");
    builder_.add_ledger(LedgerKind::ClockErrorNs,
                        static_cast<std::uint64_t>(context_.clock->error_ns()), "reader", {},
                        process_);
    add_file_damage(builder_, file, filter.still_written);
  }

 private:
  struct AsyncBegin {
    DecodedThread::AsyncEdge edge;
  };
  struct FlowEnd {
    DecodedThread::FlowEnd end;
    SpanId span;
    TrackId track;
  };

  // Names that stand in the words themselves get a number like the others.
  void name_spans(DecodedThread& decoded) {
    for (const DecodedThread::NamedSpan& named : decoded.named) {
      NameInfo info;
      info.name = builder_.intern(named.name);
      info.step = step_number(named.name);
      if (info.step >= 0) decoded.kind[named.span] = SpanKind::Step;
      decoded.name[named.span] = recording_.names.add(info);
    }
  }

  template <typename T>
  std::vector<T> names_of(const std::vector<std::uint32_t>& numbers, T NameInfo::* member) const {
    std::vector<T> values(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      values[i] = recording_.names[numbers[i]].*member;
    return values;
  }

  std::vector<std::int64_t> steps_of(const DecodedThread& decoded) const {
    std::vector<std::int64_t> steps;
    for (std::size_t i = 0; i < decoded.kind.size(); ++i) {
      if (decoded.kind[i] != SpanKind::Step) continue;
      if (steps.empty()) steps.resize(decoded.kind.size(), -1);
      steps[i] = recording_.names[decoded.name[i]].step;
    }
    return steps;
  }

  // Columns that nobody filled count their rows only.
  static void fill_rest(SpanTable& local, std::size_t count) {
    local.visit_columns([count](const auto&, auto& column) {
      if (column.size() != count) column.resize(count);
    });
  }

  void add_moments(const DecodedThread& decoded, TrackId track, std::uint32_t first) {
    const auto span_of = [first](std::uint32_t row) {
      return row == SpanId::kInvalid ? SpanId() : SpanId(first + row);
    };
    for (const auto& instant : decoded.instants) {
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
    for (const auto& counter : decoded.counters) {
      CounterRow row;
      row.time_ns = counter.time_ns;
      row.track = track;
      row.name = recording_.names[counter.name].name;
      row.value = counter.value;
      builder_.counters().push_back(row);
    }
    for (const auto& text : decoded.texts) {
      builder_.extras().push_back({TableKind::Spans, first + text.span, builder_.intern("args"),
                                   builder_.intern(json_string(text.text))});
    }
    for (const auto& flow : decoded.flows)
      flows_[flow.id].push_back({flow, span_of(flow.span), track});
    for (const auto& edge : decoded.asyncs) {
      if (edge.begin) {
        async_begins_.push_back({edge});
      } else {
        async_ends_[edge.id] = {edge.ticks, track};
      }
    }
  }

  void count_losses(const DecodedThread& decoded) {
    records_ += decoded.records;
    unfinished_ += decoded.unfinished;
    out_of_window_ += decoded.out_of_window;
    unmatched_ += decoded.unmatched;
    undecodable_ += decoded.undecodable;
    lost_ += decoded.lost;
  }

  Recording& recording_;
  TraceBuilder& builder_;
  const DecodeContext& context_;
  ProcessId process_;
  std::map<std::uint64_t, TrackId> tracks_;
  std::vector<AsyncBegin> async_begins_;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, TrackId>> async_ends_;
  std::map<std::uint64_t, std::vector<FlowEnd>> flows_;
  std::uint64_t records_ = 0;
  std::uint64_t unfinished_ = 0;
  std::uint64_t out_of_window_ = 0;
  std::uint64_t unmatched_ = 0;
  std::uint64_t undecodable_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace

Result<Trace> read_recording(const BlockFile& file, const RecordingFilter& filter) {
  Recording recording;
  read_blocks(file, recording);
  if (!filter.still_written) read_live_buffers(file, recording);
  if (filter.window >= 0 &&
      !recording.windows.contains(static_cast<std::uint32_t>(filter.window))) {
    return Failure(ErrorCode::NotFound,
                   file.name() + ": has no window " + std::to_string(filter.window));
  }

  const Survey known = survey(recording.pieces);
  const TickMap clock(recording.anchors);
  DecodeContext context;
  context.names = &recording.names;
  context.clock = &clock;
  context.windows = tick_windows(recording, filter);
  context.last_ticks = known.last_ticks;
  // A window that ended well is longer than its last record.
  for (const TickWindow& window : context.windows) {
    if (window.end_ticks != ~std::uint64_t{0})
      context.last_ticks = std::max(context.last_ticks, window.end_ticks);
  }

  std::map<std::uint64_t, std::vector<Piece>> by_thread;
  for (Piece& piece : recording.pieces) {
    if (!piece.words.empty()) by_thread[piece.head.thread].push_back(std::move(piece));
  }
  recording.pieces = {};
  std::vector<std::pair<std::uint64_t, std::vector<Piece>>> threads;
  threads.reserve(by_thread.size());
  for (auto& [thread, pieces] : by_thread) threads.emplace_back(thread, std::move(pieces));
  by_thread.clear();
  std::vector<DecodedThread> decoded(threads.size());
  const ForeignEnds none;
  parallel_for(threads.size(), [&](std::size_t i) {
    const auto foreign = known.foreign_ends.find(threads[i].first);
    decoded[i] =
        decode_thread(std::move(threads[i].second),
                      foreign != known.foreign_ends.end() ? foreign->second : none, context);
  });

  Assembler assembler(recording, context);
  assembler.add_windows();
  // Tracks in the order of the threads, before any is named as the end of another's span.
  for (const auto& [thread, pieces] : threads) assembler.track_of(thread);
  for (std::size_t i = 0; i < threads.size(); ++i)
    assembler.add_thread(threads[i].first, std::move(decoded[i]));
  assembler.add_asyncs();
  assembler.add_flows();
  assembler.add_metadata_and_ledger(file, filter);
  return std::move(recording.builder).build();
}

}  // namespace sonde
