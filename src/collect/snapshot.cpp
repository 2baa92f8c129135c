// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Snapshots: the content of a ring as a separate file, while recording continues.

#include "base/file.h"
#include "base/own_process.h"
#include "collect/collector.h"
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
                                 const std::string& path) {
  SONDE_TRY(const SessionState::Window window, pin(*session));
  session->sources.flush();
  if (!is_in_sandbox()) detail::refresh_thread_names();
  Result<void> written = write_replacing(
      path, [&](const std::string& at) { return write_snapshot(*session, window, at); });
  unpin(*session);
  return written;
}

Result<void> Collector::write_snapshot(SessionState& session, const SessionState::Window& window,
                                       const std::string& path) {
  SONDE_TRY(const std::unique_ptr<RecordingFile> file, RecordingFile::create(path));
  file->keep_only(session.options.only_thread_ids, session.options.only_thread_names);
  SONDE_TRY_VOID(write_facts(session, *file));
  file->add_anchor(stream_.first_anchor());
  const std::uint64_t end = read_ticks();
  file->add_window({0, 0, window.start_ticks, window.first_step});
  file->add_window({0, 1, end, window.first_step});
  write_ring(*file, window.start_ticks, end, true);
  file->add_anchor(take_anchor());
  {
    // After the copy: it may miss what was overwritten meanwhile.
    const std::lock_guard guard(mutex_);
    write_ledger(*file, {0, lost_in_window(session)},
                 drainer_ns_.load(std::memory_order_relaxed) - session.drainer_ns_at_open);
  }
  SONDE_TRY_VOID(file->seal());
  if (const auto error = file->first_error()) return Failure(*error);
  return {};
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
