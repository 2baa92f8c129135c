// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/collector.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/own_process.h"
#include "base/signals.h"
#include "base/text.h"
#include "collect/last_thread.h"
#include "collect/output_name.h"
#include "record/recorder.h"
#include "sonde/profile/distributed.h"

namespace sonde {

using detail::kChunkBytes;

namespace {

// Early at first, so that a short recording that is killed has a clock rate too.
constexpr std::int64_t kFirstAnchorNs = 5'000'000;

std::atomic<Collector*> the_collector{nullptr};

ProcessBlock this_process() {
  ProcessBlock process;
  process.pid = ::getpid();
  process.parent_pid = ::getppid();
  if (const auto info = distributed_info()) {
    process.rank = info->rank;
    process.world_size = info->world_size;
    process.local_rank = info->local_rank;
  }
  process.host = host_name();
  process.name = program_name();
  return process;
}

}  // namespace

// The child of a fork() gets its own collector. Its parent's is left alone, with its buffers.
struct ForkHandlers {
  static void before() { Collector::instance().mutex_.lock(); }
  static void after_in_parent() { Collector::instance().mutex_.unlock(); }
  static void in_child() {
    forget_own_threads();
    the_collector.store(new Collector, std::memory_order_release);
  }
};

Collector& Collector::instance() {
  Collector* collector = the_collector.load(std::memory_order_acquire);
  if (collector != nullptr) return *collector;
  static std::mutex making;
  const std::lock_guard guard(making);
  collector = the_collector.load(std::memory_order_acquire);
  if (collector == nullptr) {
    collector = new Collector;  // never destroyed: threads may record while the process ends
    the_collector.store(collector, std::memory_order_release);
    detail::on_fork_prepare(ForkHandlers::before, ForkHandlers::after_in_parent);
    detail::on_fork_child(ForkHandlers::in_child);
    std::atexit([] { instance().finish_all(); });
  }
  return *collector;
}

Result<void> Collector::start_stream(const SessionOptions& options, const std::string& path) {
  SONDE_TRY_VOID(stream_.start(options, path));
  drain_.reset();
  last_fresh_ = 0;
  anchor_interval_ns_ = kFirstAnchorNs;
  const std::int64_t now = monotonic_ns();
  last_anchor_ns_ = now;  // add() writes the first
  last_look_ns_ = now;
  last_rotation_ns_ = now;
  return {};
}

void Collector::start_drainer() {
  if (drainer_running_) return;
  if (drainer_.joinable()) drainer_.join();
  quit_ = false;
  const SignalsBlocked blocked;
  try {
    drainer_ = std::thread([this] { run(); });
    drainer_running_ = true;
  } catch (const std::system_error&) {
    drainer_running_ = false;
  }
}

Result<void> Collector::add(const std::shared_ptr<SessionState>& session) {
  watch_own_process();
  std::unique_lock lock(mutex_);
  const std::uint32_t chunk_count = Stream::chunks_for(session->options.budget_bytes);
  const bool wants_file = session->options.crash_safe && !session->path.empty();
  // Buffers of sessions that are only being written out are not shared.
  done_.wait(lock, [&] {
    if (!stream_.is_on()) return true;
    const bool suits =
        stream_.wanted_chunks() == chunk_count && (stream_.is_crash_safe() || !wants_file);
    return suits || std::any_of(sessions_.begin(), sessions_.end(),
                                [](const auto& s) { return !s->closing; });
  });
  start_drainer();
  if (!drainer_running_)
    return Failure(ErrorCode::Io, "cannot start a thread to write the recording");
  if (!stream_.is_on()) SONDE_TRY_VOID(start_stream(session->options, session->path));
  session->facts.process = this_process();
  ProcessBlock process = session->facts.process;
  stream_.describe(process);
  session->file->add_process(process);
  session->file->add_anchor(stream_.first_anchor());
  session->file->add_anchor(take_anchor());
  const std::string buffers = bytes_text(std::uint64_t{stream_.pool().chunk_count()} * kChunkBytes);
  if (stream_.wanted_chunks() != chunk_count) {
    note(*session, LedgerKind::Note, "shares the buffers of an earlier session, " + buffers);
  } else if (stream_.pool().chunk_count() != chunk_count) {
    note(
        *session, LedgerKind::Note,
        "the buffers are smaller than the budget, " + buffers + ": " + stream_.why_not_as_wanted());
  }
  if (wants_file && !stream_.is_crash_safe())
    note(*session, LedgerKind::NotCrashSafe, stream_.why_not_as_wanted());
  if (const detail::ForkState fork = detail::fork_state(); fork.forked) {
    note(*session, LedgerKind::Forked,
         "forked from process " + std::to_string(fork.parent) +
             "; it is not part of that process's recording");
  }
  session->live = stream_.add_session(session->file->id());
  session->drainer_ns_at_open = drainer_ns_.load(std::memory_order_relaxed);
  sessions_.push_back(session);
  work_.notify_one();
  lock.unlock();
  await_drainer();
  return {};
}

void Collector::note(SessionState& session, LedgerKind kind, const std::string& detail) {
  session.facts.ledger.emplace_back(kind, detail);
  session.file->add_ledger(kind, 1, "collect", detail);
}

void Collector::refresh_flags() {
  bool recording = false;
  bool only_rings = true;
  for (const auto& session : sessions_) {
    if (session->recording()) recording = true;
    if (!session->all_written() && session->options.policy != BufferPolicy::Ring)
      only_rings = false;
  }
  stream_.pool().set_ring(only_rings);
  detail::set_recording(recording);
}

Result<void> Collector::begin_window(SessionState& session, std::int64_t first_step) {
  {
    const std::lock_guard guard(mutex_);
    if (session.closing) return Failure(ErrorCode::Invalid, "the session is closed");
    if (session.recording()) return Failure(ErrorCode::Invalid, "the session is already recording");
    session.lost_at_begin = stream_.pool().losses();
    if (session.live != nullptr) {
      session.live->base = session.lost_at_begin.minus(session.losses.in_buffers);
      __atomic_store_n(&session.live->is_open, 1, __ATOMIC_RELEASE);
    }
    session.file->add_anchor(take_anchor());
    SessionState::Window window;
    window.start_ticks = read_ticks();
    window.start_ns = monotonic_ns();
    window.first_step = first_step;
    if (session.options.policy == BufferPolicy::Ring) {
      // Chunks of this window hold nothing else, so overwritten events can be counted.
      detail::leave_chunks_older_than(stream_.pool(), window.start_ticks);
      const bool first = std::none_of(sessions_.begin(), sessions_.end(), [](const auto& other) {
        return other->recording() && other->options.policy == BufferPolicy::Ring;
      });
      if (first) stream_.pool().count_overwritten_from(window.start_ticks);
    }
    session.windows.push_back(window);
    session.file->add_window({static_cast<std::uint32_t>(session.windows.size() - 1), 0,
                              window.start_ticks, first_step});
    refresh_flags();
  }
  const std::lock_guard one_at_a_time(sources_);
  tell_sources_locked(session, true);
  session.sources.start();
  return {};
}

void Collector::prepare_sources(SessionState& session) {
  const std::lock_guard one_at_a_time(sources_);
  session.unserved = unserved_by_sources(session.options.record);
  const std::vector<std::string> failures = session.sources.prepare(session.options.record);
  const std::lock_guard guard(mutex_);
  for (const std::string& text : session.unserved) note(session, LedgerKind::SourceFailed, text);
  for (const std::string& text : failures) note(session, LedgerKind::SourceFailed, text);
}

Result<void> Collector::set_metadata(SessionState& session, const std::string& key,
                                     const std::string& json) {
  SONDE_TRY_VOID(session.file->add_metadata(key, json));
  const std::lock_guard guard(mutex_);
  auto& metadata = session.facts.metadata;
  const auto known = std::find_if(metadata.begin(), metadata.end(),
                                  [&](const auto& pair) { return pair.first == key; });
  if (known != metadata.end()) {
    known->second = json;
  } else {
    metadata.emplace_back(key, json);
  }
  return {};
}

void Collector::tell_sources_locked(SessionState& session, bool with_it) {
  std::vector<RecordOptions> wanted;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& other : sessions_) {
      if (other->recording() && (with_it || other.get() != &session))
        wanted.push_back(other->options.record);
    }
  }
  session.sources.tell(wanted);
}

LiveLosses Collector::lost_in_window(const SessionState& session) const {
  return stream_.pool().losses().minus(session.lost_at_begin);
}

void Collector::end_window_locked(SessionState& session) {
  SessionState::Window& window = session.windows.back();
  window.end_ticks = read_ticks();
  session.losses.in_buffers = session.losses.in_buffers.plus(lost_in_window(session));
  if (session.live != nullptr) {
    session.live->lost = session.losses.in_buffers;
    __atomic_store_n(&session.live->is_open, 0, __ATOMIC_RELEASE);
  }
  session.file->add_window({static_cast<std::uint32_t>(session.windows.size() - 1), 1,
                            window.end_ticks, window.first_step});
  session.file->add_anchor(take_anchor());
  refresh_flags();
  urgent_ = true;
  work_.notify_one();
}

void Collector::end_window(SessionState& session) {
  {
    const std::lock_guard guard(mutex_);
    if (!session.recording()) return;
  }
  const std::lock_guard one_at_a_time(sources_);
  tell_sources_locked(session, false);
  session.sources.stop();
  const std::lock_guard guard(mutex_);
  if (session.recording()) end_window_locked(session);
}

void Collector::finish(SessionState& session) {
  end_window(session);
  const std::lock_guard guard(mutex_);
  session.closing = true;
  urgent_ = true;
  work_.notify_one();
}

void Collector::wait_closed(SessionState& session) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return session.closed; });
}

bool Collector::is_recording(const SessionState& session) {
  const std::lock_guard guard(mutex_);
  return session.recording();
}

int Collector::window_count(const SessionState& session) {
  const std::lock_guard guard(mutex_);
  return static_cast<int>(session.windows.size());
}

Result<void> Collector::wait_written(SessionState& session, int window) {
  std::unique_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(window);
  if (window < 0 || index >= session.windows.size())
    return Failure(ErrorCode::NotFound, "no such window");
  if (session.windows[index].end_ticks == 0)
    return Failure(ErrorCode::Invalid, "the window is still open");
  done_.wait(lock, [&] { return session.windows[index].written; });
  return {};
}

void Collector::finish_all() {
  std::vector<std::shared_ptr<SessionState>> open;
  {
    const std::lock_guard guard(mutex_);
    open = sessions_;
  }
  for (const auto& session : open) finish(*session);
  for (const auto& session : open) wait_closed(*session);
  {
    const std::lock_guard guard(mutex_);
    if (!drainer_running_) return;
    quit_ = true;
    work_.notify_one();
  }
  if (drainer_.joinable()) drainer_.join();
}

}  // namespace sonde
