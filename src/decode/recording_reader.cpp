// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/recording_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "decode/event_stream.h"
#include "decode/part_reader.h"
#include "decode/recording_assembler.h"
#include "decode/recording_blocks.h"
#include "decode/thread_decoder.h"
#include "trace/lazy_trace.h"
#include "trace/trace_part.h"

namespace sonde {
namespace {

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
  // A window without an end lasts until the next begins.
  const auto same_start = [](const auto& a, const auto& b) {
    return a.start_ticks == b.start_ticks;
  };
  windows.erase(std::unique(windows.begin(), windows.end(), same_start), windows.end());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows[i].row = static_cast<std::uint32_t>(i);
    if (i > 0)
      windows[i - 1].end_ticks = std::min(windows[i - 1].end_ticks, windows[i].start_ticks - 1);
  }
  // If the windows of a file are damaged, all of it is shown.
  if (windows.empty() && filter.window < 0) windows.push_back({0, ~std::uint64_t{0}, 0, 0});
  return windows;
}

bool make_sense(const std::vector<ThreadCounts>& threads) {
  std::set<std::uint64_t> seen;
  return std::all_of(threads.begin(), threads.end(), [&seen](const ThreadCounts& thread) {
    const bool are_known =
        std::all_of(thread.spans_by_kind.begin(), thread.spans_by_kind.end(),
                    [](const auto& spans) { return is_known(static_cast<SpanKind>(spans.first)); });
    return are_known && seen.insert(thread.thread).second;
  });
}

// Whether the counts are complete and match the events that were written.
bool knows_its_numbers(const Recording& recording) {
  if (!recording.counts || recording.undecodable > 0) return false;
  std::uint64_t written = 0;
  for (const LedgerBlock& item : recording.ledger) {
    if (static_cast<LedgerKind>(item.kind) == LedgerKind::EventsWritten) written = item.count;
  }
  return recording.counts->records == written &&
         recording.counts->threads == recording.thread_counts.size() &&
         make_sense(recording.thread_counts) && recording.counts->steps == recording.steps.size();
}

struct Decoded {
  std::vector<std::pair<std::uint64_t, DecodedThread>> threads;
  std::vector<std::pair<std::size_t, std::string>> problems;
};

// Ends recorded on other threads must be known where the ranges begin. Most recordings have none.
// If one has any, everything is decoded a second time with the ends that were found.
Decoded decode_events_of(EventStream& stream, DecodeContext& context) {
  std::map<std::uint64_t, ForeignEnds> known;  // by the thread of the begin
  for (;;) {
    const ForeignEnds none;
    std::vector<ThreadDecoding> decodings;
    for (const std::uint64_t thread : stream.threads()) {
      const auto foreign = known.find(thread);
      const bool has_any = foreign != known.end();
      decodings.emplace_back(has_any ? foreign->second : none, context);
    }
    EventStream::Done done =
        stream.run([&](std::size_t thread, const Piece& piece) { decodings[thread].add(piece); });
    if (!done.fits_marks) continue;
    if (known.empty()) {
      for (const ThreadDecoding& decoding : decodings) {
        for (const auto& [thread, position, end] : decoding.ends_elsewhere())
          known[thread].try_emplace(position, end);
      }
      if (!known.empty()) continue;
    }
    context.last_ticks = 0;
    for (const ThreadDecoding& decoding : decodings)
      context.last_ticks = std::max(context.last_ticks, decoding.last_ticks());
    // A window that ended properly extends beyond its last record.
    for (const TickWindow& window : context.windows) {
      if (window.end_ticks != ~std::uint64_t{0})
        context.last_ticks = std::max(context.last_ticks, window.end_ticks);
    }
    Decoded decoded;
    decoded.threads.resize(decodings.size());
    parallel_for(decodings.size(), [&](std::size_t i) {
      decoded.threads[i] = {stream.threads()[i], decodings[i].finish()};
    });
    decoded.problems = std::move(done.problems);
    return decoded;
  }
}

void note_problem(Recording& recording, const BlockFile& file, std::size_t block,
                  const std::string& problem) {
  const BlockFile::Block& at = file.blocks()[block];
  recording.builder.add_ledger(LedgerKind::DamagedBytes, at.stored_bytes, file.name(),
                               problem + " (block at byte " + std::to_string(at.offset) + ")");
}

Result<Trace> read_with(const BlockFile& file, std::optional<Result<LiveBuffers>> live,
                        const RecordingFilter& filter, StringPool strings = {},
                        bool has_numbers = false) {
  Recording recording;
  recording.builder.strings() = std::move(strings);
  read_blocks(file, recording, filter.outline ? BlockChoice::Outline : BlockChoice::Events);
  if (live) add_live_buffers(file, *std::move(live), recording);
  // A recording that never began. What its buffers hold is that of another one in the same process.
  if (recording.windows.empty() && recording.events.empty()) recording.pieces.clear();
  if (filter.window >= 0 &&
      !recording.windows.contains(static_cast<std::uint32_t>(filter.window))) {
    return Failure(ErrorCode::NotFound,
                   file.name() + ": has no window " + std::to_string(filter.window));
  }

  const TickMap clock(recording.anchors);
  DecodeContext context;
  context.purpose = filter.purpose;
  context.names = &recording.names;
  context.clock = &clock;
  context.windows = tick_windows(recording, filter);
  // Without counts the marks may not cover all events.
  EventStream stream(
      file, recording.events, std::move(recording.pieces),
      has_numbers ? read_marks(file) : std::vector<PieceMark>(),
      filter.purpose == ReadFor::TableByName ? WordsOfInputs::Skip : WordsOfInputs::Decode);
  Decoded decoded = decode_events_of(stream, context);
  for (const auto& [block, problem] : decoded.problems)
    note_problem(recording, file, block, problem);
  assemble(recording, context, std::move(decoded.threads), file, filter);
  return std::move(recording.builder).build();
}

bool has_key(const Trace& trace, std::string_view key) {
  const MetadataTable& metadata = trace.metadata();
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (trace.string(metadata.key[i]) == key) return true;
  }
  return false;
}

// The first tick that is not before `time_ns`.
std::uint64_t ticks_at(const TickMap& clock, Nanos time_ns, std::uint64_t last_ticks) {
  std::uint64_t low = 0;
  std::uint64_t high = last_ticks;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (clock.to_ns(middle) < time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The first and the last tick of the part; nothing if it is empty.
std::optional<std::pair<std::uint64_t, std::uint64_t>> ticks_of(const Recording& recording,
                                                                const DecodeContext& context,
                                                                const TracePart& part) {
  const TickMap& clock = *context.clock;
  const Nanos start_ns = clock.to_ns(context.windows.front().start_ticks);
  const Nanos end_ns = clock.to_ns(std::min(context.windows.back().end_ticks, context.last_ticks));
  Nanos first = start_ns + part.from_ns.value_or(0);
  Nanos last = part.to_ns ? start_ns + *part.to_ns : end_ns;
  if (part.last_ns) first = std::max(first, end_ns - *part.last_ns);
  std::uint64_t first_ticks = ticks_at(clock, first, context.last_ticks);
  std::uint64_t last_ticks = ticks_at(clock, last, context.last_ticks);
  if (part.steps) {
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
    for (const StepMark& step : recording.steps) {
      const auto number = static_cast<std::int64_t>(step.number);
      if (number < part.steps->first || number > part.steps->second) continue;
      begin = std::min(begin, step.begin_ticks);
      end = std::max(end, step.end_ticks);
    }
    first_ticks = std::max(first_ticks, begin);
    last_ticks = std::min(last_ticks, end);
  }
  if (first_ticks > last_ticks) return std::nullopt;
  return std::pair(first_ticks, last_ticks);
}

}  // namespace

Result<std::optional<Trace>> read_recording_part(const BlockFile& file, const TracePart& part) {
  if (!has_counts(file)) return std::optional<Trace>();
  Recording recording;
  read_blocks(file, recording, BlockChoice::Part);
  if (!knows_its_numbers(recording) || recording.marks.empty()) return std::optional<Trace>();
  const TickMap clock(recording.anchors);
  DecodeContext context;
  context.names = &recording.names;
  context.clock = &clock;
  context.windows = tick_windows(recording, {});
  if (recording.counts) context.last_ticks = recording.counts->last_ticks;
  const auto ticks = ticks_of(recording, context, part);
  if (!ticks) return std::optional<Trace>();
  const auto needed =
      read_needed(file, recording.events, std::move(recording.marks), ticks->first, ticks->second);
  if (!needed) return std::optional<Trace>();
  std::uint64_t rows = 0;
  for (const ThreadCounts& thread : recording.thread_counts) {
    rows += thread.instants + thread.counters + thread.allocations;
    for (const auto& [kind, count] : thread.spans_by_kind) rows += count;
  }
  std::vector<std::pair<std::uint64_t, DecodedThread>> threads;
  const ForeignEnds none;
  for (const NeededThread& thread : *needed) {
    ThreadDecoding decoding(none, context);
    for (const Piece& piece : thread.pieces) decoding.add(piece);
    threads.emplace_back(thread.id, decoding.finish());
  }
  assemble(recording, context, std::move(threads), file, {});
  SONDE_TRY(const Trace read, std::move(recording.builder).build());
  SONDE_TRY(Trace taken, part_of(read, part, rows));
  return std::optional<Trace>(std::move(taken));
}

Result<Trace> read_recording(const BlockFile& file, const RecordingFilter& filter) {
  const bool wants_live = !filter.still_written && !filter.outline;
  return read_with(file, wants_live ? find_live_buffers(file) : std::nullopt, filter);
}

Result<Trace> read_recording_lazily(const BlockFile& file, std::shared_ptr<const void> bytes,
                                    ReadFor purpose) {
  if (!has_counts(file)) return read_recording(file);
  Recording recording;
  read_blocks(file, recording, BlockChoice::Counted);
  if (!knows_its_numbers(recording)) return read_recording(file);
  const TickMap clock(recording.anchors);
  DecodeContext context;
  context.names = &recording.names;
  context.clock = &clock;
  context.windows = tick_windows(recording, {});
  if (recording.counts) context.last_ticks = recording.counts->last_ticks;
  TraceCounts counts = assemble_counted(recording, context, file);
  SONDE_TRY(const Trace outline, std::move(recording.builder).build());
  // Floating point operations are worked out from the inputs.
  if (purpose == ReadFor::TableByName && has_key(outline, "with_flops"))
    purpose = ReadFor::OperatorTable;
  std::optional<OperatorDetails> operators;
  if (recording.operators)
    operators = {recording.operators->inputs, recording.operators->stacks,
                 recording.operators->gradients};
  return LazyTrace::make(
      outline, std::move(counts),
      [file, bytes, purpose](StringPool strings) {
        return read_with(file, std::nullopt, {.purpose = purpose}, std::move(strings), true);
      },
      operators);
}

Result<Trace> read_growing_recording(BlockFile& file) {
  auto live = find_live_buffers(file);
  if (live) {
    const bool limits_size = file.limits_size();
    SONDE_TRY(file, BlockFile::open(file.name()));
    if (!limits_size) file.lift_size_limits();
    if (file.sealed()) live.reset();
  }
  return read_with(file, std::move(live), {});
}

}  // namespace sonde
