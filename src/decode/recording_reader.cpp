// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/recording_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "decode/recording_assembler.h"
#include "decode/recording_blocks.h"
#include "decode/thread_decoder.h"
#include "trace/lazy_trace.h"

namespace sonde {
namespace {

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

// Whether the counts are there as a whole, and are those of the events that were written.
bool knows_its_numbers(const Recording& recording) {
  if (!recording.counts || recording.undecodable > 0) return false;
  std::uint64_t written = 0;
  for (const LedgerBlock& item : recording.ledger) {
    if (static_cast<LedgerKind>(item.kind) == LedgerKind::EventsWritten) written = item.count;
  }
  return recording.counts->records == written &&
         recording.counts->threads == recording.thread_counts.size() &&
         recording.counts->steps == recording.steps.size();
}

Result<Trace> read_with(const BlockFile& file, std::optional<Result<LiveBuffers>> live,
                        const RecordingFilter& filter, StringPool strings = {}) {
  Recording recording;
  recording.builder.strings() = std::move(strings);
  read_blocks(file, recording, filter.outline ? BlockChoice::Outline : BlockChoice::Events);
  if (live) add_live_buffers(file, *std::move(live), recording);
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
  std::vector<std::pair<std::uint64_t, DecodedThread>> threads;
  std::vector<std::vector<Piece>> pieces;
  threads.reserve(by_thread.size());
  pieces.reserve(by_thread.size());
  for (auto& [thread, of_thread] : by_thread) {
    threads.emplace_back(thread, DecodedThread());
    pieces.push_back(std::move(of_thread));
  }
  by_thread.clear();
  const ForeignEnds none;
  parallel_for(threads.size(), [&](std::size_t i) {
    const auto foreign = known.foreign_ends.find(threads[i].first);
    const bool has_any = foreign != known.foreign_ends.end();
    threads[i].second =
        decode_thread(std::move(pieces[i]), has_any ? foreign->second : none, context);
  });

  assemble(recording, context, std::move(threads), file, filter);
  return std::move(recording.builder).build();
}

}  // namespace

Result<Trace> read_recording(const BlockFile& file, const RecordingFilter& filter) {
  const bool wants_live = !filter.still_written && !filter.outline;
  return read_with(file, wants_live ? find_live_buffers(file) : std::nullopt, filter);
}

Result<Trace> read_recording_lazily(const BlockFile& file, std::shared_ptr<const void> bytes) {
  if (!has_counts(file)) return read_recording(file);
  Recording recording;
  read_blocks(file, recording, BlockChoice::Counted);
  if (!knows_its_numbers(recording)) return read_recording(file);
  const TickMap clock(recording.anchors);
  DecodeContext context;
  context.names = &recording.names;
  context.clock = &clock;
  context.windows = tick_windows(recording, {});
  context.last_ticks = recording.counts->last_ticks;
  TraceCounts counts = assemble_counted(recording, context, file);
  SONDE_TRY(const Trace outline, std::move(recording.builder).build());
  return LazyTrace::make(outline, std::move(counts), [file, bytes](StringPool strings) {
    return read_with(file, std::nullopt, {}, std::move(strings));
  });
}

Result<Trace> read_growing_recording(BlockFile& file) {
  auto live = find_live_buffers(file);
  if (live) {
    SONDE_TRY(file, BlockFile::open(file.name()));
    if (file.sealed()) live.reset();
  }
  return read_with(file, std::move(live), {});
}

}  // namespace sonde
