// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The drainer: the part of Collector that runs on a separate thread.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/own_process.h"
#include "collect/chunk_reader.h"
#include "collect/collector.h"
#include "collect/last_thread.h"
#include "decode/losses.h"
#include "record/recorder.h"

namespace sonde {

namespace {

constexpr std::int64_t kPartialEveryNs = 200'000'000;
constexpr std::int64_t kAnchorEveryNs = 1'000'000'000;
constexpr std::int64_t kLookEveryNs = 100'000'000;
constexpr std::int64_t kFirstSchedulingNs = 20'000'000;
constexpr std::int64_t kSchedulingEveryNs = 500'000'000;
constexpr std::int64_t kRotationEveryNs = 600'000'000'000;
constexpr auto kBusyInterval = std::chrono::milliseconds(2);
constexpr auto kCalmInterval = std::chrono::milliseconds(10);
constexpr int kMostFailures = 100;
constexpr auto kIdleTime = std::chrono::milliseconds(100);

// Once in a process: the C library remembers what it has read.
std::atomic<bool> has_returned_memory{false};

// The C library opens a file when it first returns memory of such a thread to the system. It does
// so now, because a sandbox that the program enters later may end the program for it.
void return_memory_once() {
  constexpr std::size_t kBlock = std::size_t{100} << 10;  // more than it keeps, if there are some
  void* volatile blocks[8];  // volatile, or no memory would be taken at all
  for (void* volatile& block : blocks) block = std::malloc(kBlock);
  for (void* volatile& block : blocks) std::free(block);
  has_returned_memory = true;
  has_returned_memory.notify_all();
}

// False if memory ran out. That must not end the program.
template <typename Work>
bool while_memory_lasts(Work&& work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void Collector::await_drainer() {
  has_returned_memory.wait(false);
}

void Collector::run() {
  ::pthread_setname_np(::pthread_self(), "sonde-drainer");
  allow_counter();
  const OwnThread own;
  return_memory_once();
  int failures = 0;  // without a success since
  std::unique_lock lock(mutex_);
  bool busy = false;
  for (;;) {
    if (sessions_.empty()) {
      // Whoever opens another session starts another drainer.
      if (!work_.wait_for(lock, kIdleTime, [&] { return quit_ || !sessions_.empty(); })) break;
    } else {
      const bool soon = busy || stream_.is_young();
      work_.wait_for(lock, soon ? kBusyInterval : kCalmInterval, [&] { return urgent_ || quit_; });
    }
    if (quit_ && sessions_.empty()) break;
    urgent_ = false;
    lock.unlock();
    const std::uint32_t fresh_before = last_fresh_;
    const bool passed = while_memory_lasts([&] { pass(); });
    busy = passed && (last_fresh_ != fresh_before || stream_.pool().full_count() > 0);
    if (!passed) pass_ticks_ = 0;  // no window counts as written
    lock.lock();
    const bool settled = while_memory_lasts([&] { settle(lock); });
    if (!lock.owns_lock()) lock.lock();
    failures = passed && settled ? 0 : failures + 1;
    if (failures > kMostFailures) give_up();
    drainer_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
  }
  drainer_running_ = false;
}

// Lets whoever waits for a session go on. What its file lacks is in the live file.
void Collector::give_up() {
  for (const auto& session : sessions_) {
    if (session->closing) session->closed = true;
  }
  std::erase_if(sessions_, [](const auto& session) { return session->closed; });
  done_.notify_all();
}

void Collector::pass() {
  pass_ticks_ = read_ticks();
  const std::int64_t now = monotonic_ns();
  bool draining = false;
  bool ended = false;
  bool recording = false;
  std::vector<std::shared_ptr<SessionState>> sessions;
  {
    const std::lock_guard guard(mutex_);
    if (!stream_.is_on()) return;
    refresh_flags();
    sessions = sessions_;
    for (const auto& session : sessions_) {
      recording = recording || session->recording();
      if (!session->all_written() && session->options.policy != BufferPolicy::Ring) draining = true;
      ended = ended || session->awaits_writing();
    }
  }
  if (recording) stream_.prepare_ahead();
  if (draining) {
    const auto take_live = [this](const EventsHead& head, std::span<const std::uint64_t> words) {
      distribute(head, words, true);
    };
    const auto take_full = [this](const EventsHead& head, std::span<const std::uint64_t> words) {
      distribute(head, words, false);
    };
    // Live chunks first: those that are left meanwhile show up among the full ones.
    if (ended || now - last_partial_ns_ >= kPartialEveryNs) {
      last_partial_ns_ = now;
      drain_.live_chunks(stream_.pool(), take_live);
      flush_events();
    }
    // If some chunks could not be taken, no window counts as written. The next pass comes soon.
    if (!drain_.full_chunks(stream_, take_full, [this] { flush_events(); })) {
      pass_ticks_ = 0;
    } else {
      for (const auto& session : sessions) session->file->settle_counts();
    }
  }
  if (now - last_anchor_ns_ >= anchor_interval_ns_) {
    last_anchor_ns_ = now;
    anchor_interval_ns_ = std::min(anchor_interval_ns_ * 2, kAnchorEveryNs);
    const ClockAnchor anchor = take_anchor();
    for (const auto& session : sessions) {
      session->file->add_anchor(anchor);
      session->file->sync_dictionary();
    }
  }
  if (now - last_look_ns_ >= kLookEveryNs) {
    last_look_ns_ = now;
    end_with_last_thread();
  }
  watch_scheduling(now);
  if (now - last_rotation_ns_ >= kRotationEveryNs) {
    last_rotation_ns_ = now;
    // The ticks in a word wrap after hours. Ten minutes is far from that at any clock rate.
    detail::leave_chunks_older_than(stream_.pool(), read_ticks() - (std::uint64_t{1} << 41));
  }
  last_fresh_ = stream_.pool().fresh_used();
}

// Looks when a window has lasted a while, and from time to time while it is open. Most programs end
// soon, and a process whose threads were looked at takes the system milliseconds longer to end. Not
// with the mutex held: a program may have many threads.
void Collector::watch_scheduling(std::int64_t now_ns) {
  bool has_begun = false;
  bool is_open = false;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& session : sessions_) {
      if (!session->recording() || now_ns - session->windows.back().start_ns < kFirstSchedulingNs)
        continue;
      is_open = true;
      has_begun = has_begun || !session->windows.back().share_at_begin;
    }
  }
  if (!has_begun && !(is_open && now_ns - last_scheduling_ns_ >= kSchedulingEveryNs)) return;
  last_scheduling_ns_ = now_ns;
  scheduling_.look(now_ns);
  const std::lock_guard guard(mutex_);
  for (const auto& session : sessions_) {
    if (!session->recording()) continue;
    SessionState::Window& window = session->windows.back();
    if (!window.share_at_begin && now_ns - window.start_ns >= kFirstSchedulingNs)
      window.share_at_begin = scheduling_.total();
  }
}

// Of a window that has just ended; the mutex is not held.
void Collector::write_share(SessionState& session, std::size_t window) {
  std::optional<ProcessorShare> begin;
  {
    const std::lock_guard guard(mutex_);
    begin = session.windows[window].share_at_begin;
  }
  if (!begin) return;  // it was too short
  scheduling_.look(monotonic_ns());
  if (!scheduling_.has_looked()) return;
  std::string json;
  {
    const std::lock_guard guard(mutex_);
    session.share = session.share.plus(scheduling_.total().minus(*begin));
    json = scheduling_.json(session.share);
  }
  static_cast<void>(set_metadata(session, std::string(kProcessorTimeKey), json));
}

void Collector::flush_events() {
  std::vector<std::shared_ptr<SessionState>> sessions;
  {
    const std::lock_guard guard(mutex_);
    sessions = sessions_;
  }
  for (const auto& session : sessions) {
    session->file->flush_events();
    // Not earlier: until then only the buffers have the last events that were kept.
    const std::lock_guard guard(mutex_);
    if (session->live != nullptr)
      __atomic_store_n(&session->live->spent_ticks, session->spent_ticks, __ATOMIC_RELEASE);
  }
}

void Collector::distribute(const EventsHead& head, std::span<const std::uint64_t> words,
                           bool is_still_filled) {
  const TickRange range = ticks_of(head, words);
  std::vector<std::shared_ptr<SessionState>> takers;
  const std::uint64_t records = count_records(words);
  {
    // Looked up for every chunk, so that a session that began during this pass misses nothing.
    const std::lock_guard guard(mutex_);
    for (const auto& session : sessions_) {
      const bool wanted =
          std::any_of(session->windows.begin(), session->windows.end(), [&](const auto& window) {
            return !window.written && overlaps(range, window.start_ticks, window.end_ticks);
          });
      if (!wanted) continue;
      if (session->options.policy == BufferPolicy::Drop) {
        const bool fits = session->kept_bytes + words.size_bytes() <= session->options.budget_bytes;
        if (!fits && session->spent_ticks == 0)
          session->spent_ticks = std::max(session->kept_until, range.first);
        if (session->spent_ticks != 0) {  // a later piece would leave a gap
          session->losses.dropped += records;
          if (session->live != nullptr)
            __atomic_store_n(&session->live->dropped, session->losses.dropped, __ATOMIC_RELAXED);
          continue;
        }
        session->kept_bytes += words.size_bytes();
        session->kept_until = std::max(session->kept_until, range.last);
      }
      takers.push_back(session);
    }
  }
  if (takers.empty()) return;
  encoded_.clear();
  encode_events(head, words, encoded_);
  for (const auto& session : takers) {
    session->file->add_events({head, words, encoded_, records, is_still_filled},
                              session->options.compress);
  }
}

void Collector::write_ring(RecordingFile& file, std::uint64_t start_ticks, std::uint64_t end_ticks,
                           bool compress) {
  file.give_up_counts();
  std::vector<std::uint64_t> words;
  std::vector<std::uint8_t> encoded;
  const detail::Pool& pool = stream_.pool();
  for (std::uint32_t i = 0; i < pool.chunk_count(); ++i) {
    if (!pool.was_used(i)) continue;
    EventsHead head;
    if (!copy_chunk(pool.chunk(i), stream_.id(), head, words)) continue;
    words.resize(whole_records(words));
    if (words.empty() || !overlaps(ticks_of(head, words), start_ticks, end_ticks)) continue;
    head.word_count = static_cast<std::uint32_t>(words.size());
    encoded.clear();
    encode_events(head, words, encoded);
    file.add_events({head, words, encoded, count_records(words), false}, compress);
  }
  file.flush_events();
  file.sync_dictionary();
}

// Of a window that has just ended; the mutex is not held.
void Collector::write_ended_ring(SessionState& session, std::size_t index) {
  SessionState::Window window;
  {
    const std::lock_guard guard(mutex_);
    window = session.windows[index];
  }
  const std::int64_t ring_ns = session.options.ring_ns;
  const WindowBlock begin = {static_cast<std::uint32_t>(index), 0,
                             ring_begin(window, window.end_ticks, ring_ns), window.first_step};
  if (begin.ticks != window.start_ticks) session.file->add_window(begin);
  write_ring(*session.file, begin.ticks, window.end_ticks, session.options.compress);
  if (ring_ns == 0) return;
  narrow_to_ring(*session.file, begin, window.end_ticks);
  const std::lock_guard guard(mutex_);
  session.losses.in_buffers.overwritten = 0;  // its window begins after that
}

void Collector::settle(std::unique_lock<std::mutex>& lock) {
  const std::vector<std::shared_ptr<SessionState>> sessions = sessions_;
  for (const auto& session : sessions) {
    for (std::size_t i = 0; i < session->windows.size(); ++i) {
      const SessionState::Window window = session->windows[i];
      if (!window.awaits_writing() || window.end_ticks > pass_ticks_) continue;
      lock.unlock();
      if (!is_in_sandbox()) detail::refresh_thread_names();
      write_share(*session, i);
      if (session->options.policy == BufferPolicy::Ring) {
        write_ended_ring(*session, i);
      } else {
        session->file->sync_dictionary();
      }
      lock.lock();
      // Scopes that are open there may have ended any time after it.
      if (window.start_ticks <= session->spent_ticks && session->spent_ticks < window.end_ticks) {
        session->file->add_window(
            {static_cast<std::uint32_t>(i), 1, session->spent_ticks, window.first_step});
      }
      write_ledger(*session->file, session->losses, thread_cpu_ns() - session->drainer_ns_at_open);
      session->windows[i].written = true;
      done_.notify_all();
    }
    if (session->closing && session->pins == 0 && session->all_written()) {
      session->file->make_room_for_the_end();
      if (!stream_.why_not_larger().empty())
        note(*session, LedgerKind::Note, stream_.why_not_larger());
      write_ledger(*session->file, session->losses, thread_cpu_ns() - session->drainer_ns_at_open);
      // An error is kept in the file's first_error(), which close() returns.
      (void)session->file->seal();
      if (session->live != nullptr) *session->live = {};
      session->live = nullptr;
      std::erase(sessions_, session);
      session->closed = true;
      if (sessions_.empty() && stream_.is_on()) stream_.end();
      done_.notify_all();
    }
  }
}

void Collector::write_ledger(RecordingFile& file, const SessionLosses& lost,
                             std::int64_t drainer_ns) {
  const auto note = [&file](LedgerKind kind, std::uint64_t count, const std::string& detail = "") {
    if (count > 0) file.add_ledger(kind, count, "collect", detail);
  };
  file.add_ledger(LedgerKind::EventsWritten, file.records_written(), "collect");
  for_each_loss(lost.in_buffers, lost.dropped, note);
  const std::optional<Error> failure = file.first_error();
  note(LedgerKind::Unwritten, file.records_failed(), failure ? failure->message : "");
  note(LedgerKind::ChunksLost, stream_.pool().mislaid_chunks());
  note(LedgerKind::DrainerNs, static_cast<std::uint64_t>(std::max<std::int64_t>(drainer_ns, 0)));
  const double ns_per_tick = TickMap({stream_.first_anchor(), take_anchor()}).ns_per_tick();
  note(LedgerKind::EventCostPs,
       static_cast<std::uint64_t>(static_cast<double>(stream_.scope_ticks()) * ns_per_tick * 1000 /
                                  2),
       "half the cost of a scope, measured when recording began");
}

}  // namespace sonde
