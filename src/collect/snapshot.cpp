// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Snapshots: the content of a ring as a separate file, while recording continues.

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/own_process.h"
#include "collect/chunk_reader.h"
#include "collect/collector.h"
#include "decode/ring_reach.h"
#include "record/recorder.h"

namespace sonde {

Result<SessionState::Window> Collector::pin(SessionState& session) {
  const std::lock_guard guard(mutex_);
  if (session.options.policy != BufferPolicy::Ring) {
    return Failure(
        ErrorCode::Unsupported,
        "a snapshot needs BufferPolicy::Ring; files of other sessions can be opened at any time");
  }
  if (!session.recording()) return Failure(ErrorCode::Invalid, "the session is not recording");
  ++session.pins;
  return session.windows.back();
}

void Collector::unpin(SessionState& session) {
  const std::lock_guard guard(mutex_);
  --session.pins;
  urgent_ = true;
  work_.notify_one();
}

Result<void> Collector::snapshot(const std::shared_ptr<SessionState>& session,
                                 const SnapshotRequest& request) {
  SONDE_TRY(const SessionState::Window window, pin(*session));
  session->sources.flush();
  if (!is_in_sandbox()) detail::refresh_thread_names();
  Result<void> written = write_replacing(request.path, [&](const std::string& at) {
    return write_snapshot(*session, window, request, at);
  });
  unpin(*session);
  return written;
}

Result<void> Collector::write_snapshot(SessionState& session, const SessionState::Window& window,
                                       const SnapshotRequest& request, const std::string& path) {
  SONDE_TRY(const std::unique_ptr<RecordingFile> file, RecordingFile::create(path));
  file->keep_only(session.options.only_thread_ids, session.options.only_thread_names);
  SONDE_TRY_VOID(write_facts(session, *file));
  for (const auto& [key, json] : request.metadata) SONDE_TRY_VOID(file->add_metadata(key, json));
  file->add_anchor(stream_.first_anchor());
  const std::int64_t ring_ns = session.options.ring_ns;
  const std::uint64_t end = read_ticks();
  const WindowBlock begin = {
      0, 0, ring_begin(window, end, ring_ns > 0 ? std::max(ring_ns, request.at_least_ns) : 0),
      window.first_step};
  file->add_window(begin);
  file->add_window({0, 1, end, window.first_step});
  write_ring(*file, begin.ticks, end, true);
  if (ring_ns > 0) narrow_to_ring(*file, begin, end);
  file->add_anchor(take_anchor());
  {
    // Done after the copy, which may lack what was overwritten meanwhile.
    const std::lock_guard guard(mutex_);
    LiveLosses lost = lost_in_window(session);
    if (ring_ns > 0) lost.overwritten = 0;  // its window begins after that
    write_ledger(*file, {0, lost},
                 drainer_ns_.load(std::memory_order_relaxed) - session.drainer_ns_at_open);
  }
  SONDE_TRY_VOID(file->seal());
  if (const auto error = file->first_error()) return Failure(*error);
  return {};
}

std::uint64_t Collector::ring_begin(const SessionState::Window& window, std::uint64_t end_ticks,
                                    std::int64_t kept_ns) const {
  if (kept_ns <= 0) return window.start_ticks;
  const double ns_per_tick = TickMap({stream_.first_anchor(), take_anchor()}).ns_per_tick();
  const double kept = static_cast<double>(kept_ns) / std::max(ns_per_tick, 1e-6);
  const auto all = static_cast<double>(end_ticks - window.start_ticks);
  return kept < all ? end_ticks - static_cast<std::uint64_t>(kept) : window.start_ticks;
}

void Collector::narrow_to_ring(RecordingFile& file, const WindowBlock& begin,
                               std::uint64_t end_ticks) {
  if (stream_.pool().losses().overwritten == 0) return;
  RingReach reach;
  std::vector<std::uint64_t> words;
  const detail::Pool& pool = stream_.pool();
  for (std::uint32_t i = 0; i < pool.chunk_count(); ++i) {
    EventsHead head;
    if (!pool.was_used(i) || !copy_chunk(pool.chunk(i), stream_.id(), head, words)) continue;
    words.resize(whole_records(words));
    if (!words.empty()) reach.add(head.thread, head.sequence, ticks_of(head, words).last);
  }
  const std::uint64_t complete_from = reach.complete_from(end_ticks);
  if (complete_from <= begin.ticks) return;
  file.add_window({begin.index, 0, complete_from, begin.first_step});
  const double ns_per_tick = TickMap({stream_.first_anchor(), take_anchor()}).ns_per_tick();
  file.add_ledger(LedgerKind::Note, 1, "collect",
                  ring_too_small(static_cast<double>(end_ticks - complete_from) * ns_per_tick,
                                 static_cast<double>(end_ticks - begin.ticks) * ns_per_tick));
}

Result<void> Collector::write_facts(SessionState& session, RecordingFile& file) {
  SessionFacts facts;
  {
    const std::lock_guard guard(mutex_);
    facts = session.facts;
  }
  facts.process.stream = stream_.id();  // no live file: a snapshot is complete
  file.add_process(facts.process);
  for (const auto& [kind, detail] : facts.ledger) file.add_ledger(kind, 1, "collect", detail);
  for (const auto& [key, json] : facts.metadata) SONDE_TRY_VOID(file.add_metadata(key, json));
  return {};
}

}  // namespace sonde
