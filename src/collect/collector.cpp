// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/collector.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "collect/output_name.h"
#include "sonde/distributed.h"

namespace sonde {

using detail::ChunkHeader;
using detail::kChunkBytes;

namespace {

constexpr std::uint32_t kMinChunks = 32;
// How much memory is kept ready ahead of the recording threads: 20 ms of two of them flat out.
constexpr std::uint32_t kReadyChunks = (std::uint32_t{32} << 20) / kChunkBytes;
constexpr std::int64_t kPartialEveryNs = 200'000'000;
// Soon at first, so that a short recording that is killed has its clock's rate too.
constexpr std::int64_t kFirstAnchorNs = 5'000'000;
constexpr std::int64_t kAnchorEveryNs = 1'000'000'000;
constexpr std::int64_t kRotationEveryNs = 600'000'000'000;
constexpr auto kBusyInterval = std::chrono::milliseconds(2);
constexpr auto kCalmInterval = std::chrono::milliseconds(10);

std::atomic<Collector*> the_collector{nullptr};

std::uint32_t chunks_for(std::uint64_t budget_bytes) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(budget_bytes / kChunkBytes, kMinChunks, std::uint64_t{1} << 24));
}

std::uint64_t count_records(std::span<const std::uint64_t> words) {
  std::uint64_t records = 0;
  for (std::size_t i = 0; i < words.size(); i += 1 + detail::payload_words(words[i])) ++records;
  return records;
}

void load_words(const ChunkHeader* chunk, std::uint32_t from, std::uint32_t to,
                std::vector<std::uint64_t>& words) {
  const auto* first =
      reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(chunk) + from);
  words.resize((to - from) / 8);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = __atomic_load_n(first + i, __ATOMIC_RELAXED);
}

// Copies a chunk that its thread may be writing and that others may take for themselves meanwhile.
// False if it holds no events, or was taken while it was read.
bool copy_chunk(const ChunkHeader* chunk, std::uint64_t stream, EventsHead& head,
                std::vector<std::uint64_t>& words) {
  const auto state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);  // pairs with next_chunk
  if (state != detail::kChunkEvents || __atomic_load_n(&chunk->stream, __ATOMIC_RELAXED) != stream)
    return false;
  head.thread = __atomic_load_n(&chunk->thread, __ATOMIC_RELAXED);
  head.sequence = __atomic_load_n(&chunk->sequence, __ATOMIC_RELAXED);
  head.base_ticks = __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED);
  head.lost_before = __atomic_load_n(&chunk->lost_before, __ATOMIC_RELAXED);
  head.lost_ends_before = __atomic_load_n(&chunk->lost_ends_before, __ATOMIC_RELAXED);
  head.first_offset = detail::kChunkFirstWord;
  const std::uint32_t committed = std::min(detail::committed_bytes(chunk), kChunkBytes);
  if (committed <= detail::kChunkFirstWord) return false;
  load_words(chunk, detail::kChunkFirstWord, committed, words);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with mark_free
  return __atomic_load_n(&chunk->state, __ATOMIC_RELAXED) == state &&
         __atomic_load_n(&chunk->thread, __ATOMIC_RELAXED) == head.thread &&
         __atomic_load_n(&chunk->sequence, __ATOMIC_RELAXED) == head.sequence;
}

struct TickRange {
  std::uint64_t first;
  std::uint64_t last;
};

TickRange ticks_of(const EventsHead& head, std::span<const std::uint64_t> words) {
  std::uint64_t last_word = words[0];
  for (std::size_t i = 0; i < words.size(); i += 1 + detail::payload_words(words[i]))
    last_word = words[i];
  return {full_ticks(words[0], head.base_ticks), full_ticks(last_word, head.base_ticks)};
}

// `end` 0: still open.
bool overlaps(const TickRange& range, std::uint64_t start, std::uint64_t end) {
  return range.last >= start && (end == 0 || range.first <= end);
}

void add_losses(detail::LossCounts& sum, const detail::LossCounts& now,
                const detail::LossCounts& before) {
  sum.spans += now.spans - before.spans;
  sum.ends += now.ends - before.ends;
  sum.others += now.others - before.others;
  sum.in_signal += now.in_signal - before.in_signal;
}

}  // namespace

// A child of fork() gets a collector of its own; its parent's is left as it is, buffers and all.
struct ForkHandlers {
  static void before() { Collector::instance().mutex_.lock(); }
  static void after_in_parent() { Collector::instance().mutex_.unlock(); }
  static void in_child() { the_collector.store(new Collector, std::memory_order_release); }
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
  const std::uint32_t chunk_count = chunks_for(options.budget_bytes);
  const auto fits = [&](const Arena* arena) { return arena->max_chunks() >= chunk_count; };
  const auto found = std::find_if(arenas_.begin(), arenas_.end(), fits);
  if (found != arenas_.end()) {
    arena_ = *found;
  } else {
    arena_ = new Arena(chunk_count);
    if (!arena_->reserved()) {
      return Failure(ErrorCode::Io, "cannot reserve addresses for a budget of " +
                                        bytes_text(options.budget_bytes));
    }
    arenas_.push_back(arena_);
  }
  if (scope_ticks_ == 0) scope_ticks_ = detail::measure_scope_ticks();
  if (first_anchor_.ticks == 0) first_anchor_ = take_anchor();
  stream_ = (static_cast<std::uint64_t>(::getpid()) << 32) ^ read_ticks();
  not_crash_safe_.clear();
  const bool wants_file = options.crash_safe && !path.empty();
  if (!wants_file)
    not_crash_safe_ = path.empty() ? "the session has no file name" : "it was asked for";
  arena_->open(wants_file ? path + ".live" : "", chunk_count, stream_, not_crash_safe_);
  pool_.reset(arena_->chunks(), chunk_count, stream_,
              detail::held_chunks(arena_->chunks(), chunk_count));
  drained_.assign(chunk_count, {});
  last_fresh_ = 0;
  anchor_interval_ns_ = kFirstAnchorNs;
  last_rotation_ns_ = monotonic_ns();
  arena_->touch(kReadyChunks);
  detail::attach_pool(&pool_);
  stream_on_ = true;
  return {};
}

void Collector::end_stream() {
  detail::set_recording(false);
  detail::detach_pool();
  arena_->close();
  stream_on_ = false;
}

void Collector::start_drainer() {
  if (drainer_running_) return;
  if (drainer_.joinable()) drainer_.join();
  quit_ = false;
  // The program's signals are not for this thread.
  sigset_t all;
  sigset_t kept;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &kept);
  try {
    drainer_ = std::thread([this] { run(); });
    drainer_running_ = true;
  } catch (const std::system_error&) {
    drainer_running_ = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &kept, nullptr);
}

Result<void> Collector::add(const std::shared_ptr<SessionState>& session) {
  std::unique_lock lock(mutex_);
  const std::uint32_t chunk_count = chunks_for(session->options.budget_bytes);
  const bool wants_file = session->options.crash_safe && !session->path.empty();
  // Buffers that were made for sessions which are only being written out need not be shared.
  done_.wait(lock, [&] {
    if (!stream_on_) return true;
    const bool suits = pool_.chunk_count() == chunk_count && (arena_->file_backed() || !wants_file);
    return suits || std::any_of(sessions_.begin(), sessions_.end(),
                                [](const auto& s) { return !s->closing; });
  });
  if (!stream_on_) SONDE_TRY_VOID(start_stream(session->options, session->path));
  start_drainer();
  if (!drainer_running_) {
    if (sessions_.empty()) end_stream();
    return Failure(ErrorCode::Io, "cannot start a thread to write the recording");
  }
  ProcessBlock process;
  process.pid = ::getpid();
  process.parent_pid = ::getppid();
  if (const auto info = distributed_info()) {
    process.rank = info->rank;
    process.world_size = info->world_size;
    process.local_rank = info->local_rank;
  }
  process.stream = stream_;
  process.host = host_name();
  process.name = program_name();
  if (arena_->file_backed()) {
    const std::filesystem::path live(arena_->live_path());
    std::error_code ignored;
    process.live_name = live.filename().string();
    process.live_path = std::filesystem::absolute(live, ignored).string();
  }
  session->file->add_process(process);
  session->file->add_anchor(first_anchor_);
  session->file->add_anchor(take_anchor());
  if (pool_.chunk_count() != chunk_count) {
    session->file->add_ledger(LedgerKind::Note, 1, "collect",
                              "the buffers are those of a session that began before, " +
                                  bytes_text(std::uint64_t{pool_.chunk_count()} * kChunkBytes));
  }
  if (wants_file && !arena_->file_backed()) {
    session->file->add_ledger(LedgerKind::NotCrashSafe, 1, "collect", not_crash_safe_);
  }
  if (const detail::ForkState fork = detail::fork_state(); fork.forked) {
    session->file->add_ledger(LedgerKind::Forked, 1, "collect",
                              "forked from process " + std::to_string(fork.parent) +
                                  ", whose recording it is not part of");
  }
  session->drainer_ns_at_open = drainer_ns_.load(std::memory_order_relaxed);
  sessions_.push_back(session);
  work_.notify_one();
  return {};
}

void Collector::refresh_flags() {
  bool recording = false;
  bool only_rings = true;
  for (const auto& session : sessions_) {
    if (session->recording()) recording = true;
    if (!session->all_written() && session->options.policy != BufferPolicy::Ring)
      only_rings = false;
  }
  pool_.set_ring(only_rings);
  detail::set_recording(recording);
}

Result<void> Collector::begin_window(SessionState& session, std::int64_t first_step) {
  {
    const std::lock_guard guard(mutex_);
    if (session.closing) return Failure(ErrorCode::Invalid, "the session is closed");
    if (session.recording()) return Failure(ErrorCode::Invalid, "the session is recording already");
    session.losses_at_begin = detail::loss_counts();
    session.overwritten_at_begin = pool_.overwritten_records();
    session.file->add_anchor(take_anchor());
    SessionState::Window window;
    window.start_ticks = read_ticks();
    window.first_step = first_step;
    if (session.options.policy == BufferPolicy::Ring) {
      // Chunks of this window hold nothing else, so that what is overwritten can be counted.
      detail::leave_chunks_older_than(pool_, window.start_ticks);
      const bool first = std::none_of(sessions_.begin(), sessions_.end(), [](const auto& other) {
        return other->recording() && other->options.policy == BufferPolicy::Ring;
      });
      if (first) pool_.count_overwritten_from(window.start_ticks);
    }
    session.windows.push_back(window);
    session.file->add_window({static_cast<std::uint32_t>(session.windows.size() - 1), 0,
                              window.start_ticks, first_step});
    refresh_flags();
  }
  session.sources.start();
  return {};
}

void Collector::end_window_locked(SessionState& session) {
  SessionState::Window& window = session.windows.back();
  window.end_ticks = read_ticks();
  add_losses(session.losses, detail::loss_counts(), session.losses_at_begin);
  session.overwritten += pool_.overwritten_records() - session.overwritten_at_begin;
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

void Collector::run() {
  ::pthread_setname_np(::pthread_self(), "sonde-drainer");
  std::unique_lock lock(mutex_);
  bool busy = false;
  for (;;) {
    if (sessions_.empty()) {
      work_.wait(lock, [&] { return quit_ || !sessions_.empty(); });
    } else {
      work_.wait_for(lock, busy ? kBusyInterval : kCalmInterval, [&] { return urgent_ || quit_; });
    }
    if (quit_ && sessions_.empty()) break;
    urgent_ = false;
    lock.unlock();
    const std::uint32_t fresh_before = last_fresh_;
    pass();
    busy = last_fresh_ != fresh_before || pool_.full_count() > 0;
    lock.lock();
    settle(lock);
    drainer_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
  }
  drainer_running_ = false;
}

void Collector::pass() {
  pass_ticks_ = read_ticks();
  const std::int64_t now = monotonic_ns();
  bool draining = false;
  bool ended = false;
  std::vector<std::shared_ptr<SessionState>> sessions;
  {
    const std::lock_guard guard(mutex_);
    if (!stream_on_) return;
    refresh_flags();
    sessions = sessions_;
    for (const auto& session : sessions_) {
      if (!session->all_written() && session->options.policy != BufferPolicy::Ring) draining = true;
      ended = ended || (!session->windows.empty() && session->windows.back().end_ticks != 0 &&
                        !session->windows.back().written);
    }
  }
  arena_->touch(pool_.fresh_used() + kReadyChunks);
  if (draining) {
    drain_full_chunks();
    if (ended || now - last_partial_ns_ >= kPartialEveryNs) {
      last_partial_ns_ = now;
      drain_live_chunks();
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
  if (now - last_rotation_ns_ >= kRotationEveryNs) {
    last_rotation_ns_ = now;
    // A word's ticks repeat after hours; ten minutes' worth is far from it, whatever the clock's
    // rate.
    detail::leave_chunks_older_than(pool_, pass_ticks_ - (std::uint64_t{1} << 41));
  }
  last_fresh_ = pool_.fresh_used();
}

void Collector::drain_full_chunks() {
  // No more than there are now: threads may fill chunks as fast as they are drained.
  std::uint64_t left = pool_.full_count();
  std::array<ChunkHeader*, 16> batch{};
  while (left > 0) {
    std::size_t count = 0;
    for (; count < batch.size() && left > 0; --left) {
      ChunkHeader* chunk = pool_.pop_full();
      if (chunk == nullptr) {
        left = 0;
        break;
      }
      drain_chunk(chunk);
      batch[count++] = chunk;
    }
    // Only what is in the files may be given out again.
    flush_events();
    for (std::size_t i = 0; i < count; ++i) pool_.release(batch[i]);
    arena_->touch(pool_.fresh_used() + kReadyChunks);
  }
}

void Collector::flush_events() {
  std::vector<std::shared_ptr<SessionState>> sessions;
  {
    const std::lock_guard guard(mutex_);
    sessions = sessions_;
  }
  for (const auto& session : sessions) session->file->flush_events();
}

void Collector::drain_live_chunks() {
  // A chunk its thread leaves meanwhile stays as it is: only this thread gives it out again.
  std::vector<ChunkHeader*> live;
  detail::for_each_live_chunk(pool_, [&](ChunkHeader* chunk) { live.push_back(chunk); });
  for (ChunkHeader* chunk : live) drain_chunk(chunk);
  flush_events();
}

void Collector::drain_chunk(ChunkHeader* chunk) {
  Drained& drained = drained_[pool_.index_of(chunk)];
  EventsHead head;
  head.thread = __atomic_load_n(&chunk->thread, __ATOMIC_RELAXED);
  head.sequence = __atomic_load_n(&chunk->sequence, __ATOMIC_RELAXED);
  if (drained.thread != head.thread || drained.sequence != head.sequence) {
    drained = {head.thread, head.sequence, detail::kChunkFirstWord};
  }
  if (drained.offset == detail::kChunkFirstWord) {
    head.lost_before = __atomic_load_n(&chunk->lost_before, __ATOMIC_RELAXED);
    head.lost_ends_before = __atomic_load_n(&chunk->lost_ends_before, __ATOMIC_RELAXED);
  }
  const std::uint32_t committed = detail::committed_bytes(chunk);
  if (committed <= drained.offset) return;
  head.first_offset = drained.offset;
  head.base_ticks = __atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED);
  load_words(chunk, drained.offset, committed, words_);
  drained.offset = committed;
  head.word_count = static_cast<std::uint32_t>(words_.size());
  distribute(head, words_);
}

void Collector::distribute(const EventsHead& head, std::span<const std::uint64_t> words) {
  const TickRange range = ticks_of(head, words);
  std::vector<std::shared_ptr<SessionState>> takers;
  const std::uint64_t records = count_records(words);
  {
    // Looked up for every chunk: a session that began after this pass did must not miss it.
    const std::lock_guard guard(mutex_);
    for (const auto& session : sessions_) {
      const bool wanted =
          std::any_of(session->windows.begin(), session->windows.end(), [&](const auto& window) {
            return !window.written && overlaps(range, window.start_ticks, window.end_ticks);
          });
      if (!wanted) continue;
      if (session->options.policy == BufferPolicy::Drop) {
        if (session->kept_bytes + words.size_bytes() > session->options.budget_bytes) {
          session->dropped += records;
          continue;
        }
        session->kept_bytes += words.size_bytes();
      }
      takers.push_back(session);
    }
  }
  if (takers.empty()) return;
  encoded_.clear();
  encode_events(head, words, encoded_);
  // Compression is for when there is time.
  const bool calm = pool_.full_count() * 4 < pool_.chunk_count();
  for (const auto& session : takers) {
    session->file->add_events(head.thread, records, encoded_, calm && session->options.compress);
  }
}

void Collector::write_ring(RecordingFile& file, std::uint64_t start_ticks, std::uint64_t end_ticks,
                           bool compress) {
  const std::uint32_t used = std::min(pool_.fresh_used(), pool_.chunk_count());
  std::vector<std::uint64_t> words;
  std::vector<std::uint8_t> encoded;
  for (std::uint32_t i = 0; i < used; ++i) {
    EventsHead head;
    if (!copy_chunk(pool_.chunk(i), stream_, head, words)) continue;
    words.resize(whole_records(words));
    if (words.empty() || !overlaps(ticks_of(head, words), start_ticks, end_ticks)) continue;
    head.word_count = static_cast<std::uint32_t>(words.size());
    encoded.clear();
    encode_events(head, words, encoded);
    file.add_events(head.thread, count_records(words), encoded, compress);
  }
  file.flush_events();
  file.sync_dictionary();
}

void Collector::settle(std::unique_lock<std::mutex>& lock) {
  const std::vector<std::shared_ptr<SessionState>> sessions = sessions_;
  for (const auto& session : sessions) {
    for (std::size_t i = 0; i < session->windows.size(); ++i) {
      const SessionState::Window window = session->windows[i];
      if (window.written || window.end_ticks == 0 || window.end_ticks > pass_ticks_) continue;
      lock.unlock();
      detail::refresh_thread_names();
      if (session->options.policy == BufferPolicy::Ring) {
        write_ring(*session->file, window.start_ticks, window.end_ticks, session->options.compress);
      } else {
        session->file->sync_dictionary();
      }
      lock.lock();
      write_ledger(*session);
      session->windows[i].written = true;
      done_.notify_all();
    }
    if (session->closing && session->pins == 0 && session->all_written()) {
      std::erase(sessions_, session);
      session->file->make_room_for_the_end();
      write_ledger(*session);
      // A failure is in the file's first_error(), which close() tells.
      (void)session->file->seal();
      session->closed = true;
      if (sessions_.empty() && stream_on_) end_stream();
      done_.notify_all();
    }
  }
}

void Collector::write_ledger(SessionState& session) {
  RecordingFile& file = *session.file;
  const auto note = [&file](LedgerKind kind, std::uint64_t count, const std::string& detail = "") {
    if (count > 0) file.add_ledger(kind, count, "collect", detail);
  };
  file.add_ledger(LedgerKind::EventsWritten, file.records_written(), "collect");
  const detail::LossCounts& lost = session.losses;
  note(LedgerKind::DroppedByBudget, lost.spans, "spans: the buffers were full");
  note(LedgerKind::DroppedByBudget, lost.ends, "ends: their spans look unfinished");
  note(LedgerKind::DroppedByBudget, lost.others, "instants, counters, flows and texts");
  note(LedgerKind::DroppedByBudget, session.dropped, "events after the budget was spent");
  note(LedgerKind::DroppedByBudget, file.records_failed(),
       "events that could not be written: " +
           (file.first_error() ? file.first_error()->message : ""));
  note(LedgerKind::DroppedInSignal, lost.in_signal,
       "recorded by a signal handler that interrupted the recorder");
  note(LedgerKind::Overwritten, session.overwritten, "events, for newer ones");
  note(LedgerKind::ChunksLost, pool_.mislaid_chunks());
  const std::int64_t drainer = thread_cpu_ns() - session.drainer_ns_at_open;
  note(LedgerKind::DrainerNs, static_cast<std::uint64_t>(std::max<std::int64_t>(drainer, 0)));
  const double ns_per_tick = TickMap({first_anchor_, take_anchor()}).ns_per_tick();
  note(LedgerKind::EventCostPs,
       static_cast<std::uint64_t>(static_cast<double>(scope_ticks_) * ns_per_tick * 1000 / 2),
       "half a scope, measured when recording began");
}

Result<void> Collector::snapshot(const std::shared_ptr<SessionState>& session,
                                 const std::string& path) {
  std::uint64_t start = 0;
  std::int64_t step = 0;
  std::uint32_t index = 0;
  {
    const std::lock_guard guard(mutex_);
    if (session->options.policy != BufferPolicy::Ring) {
      return Failure(
          ErrorCode::Unsupported,
          "a snapshot needs BufferPolicy::Ring; other sessions' files can be opened at any time");
    }
    if (!session->recording()) return Failure(ErrorCode::Invalid, "the session is not recording");
    start = session->windows.back().start_ticks;
    step = session->windows.back().first_step;
    index = 0;
    ++session->pins;
  }
  const auto unpin = [&] {
    const std::lock_guard guard(mutex_);
    --session->pins;
    urgent_ = true;
    work_.notify_one();
  };
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  auto file = RecordingFile::create(temporary);
  if (!file) {
    unpin();
    return Failure(std::move(file).error());
  }
  RecordingFile& out = **file;
  ProcessBlock process;
  process.pid = ::getpid();
  process.host = host_name();
  process.name = program_name();
  process.stream = stream_;
  out.add_process(process);
  out.add_anchor(first_anchor_);
  const std::uint64_t end = read_ticks();
  out.add_window({index, 0, start, step});
  out.add_window({index, 1, end, step});
  write_ring(out, start, end, true);
  out.add_anchor(take_anchor());
  unpin();
  auto sealed = out.seal();
  if (const auto error = out.first_error(); error && sealed) sealed = Failure(*error);
  std::error_code failed;
  if (sealed) {
    std::filesystem::rename(temporary, path, failed);
    if (failed) sealed = Failure(ErrorCode::Io, path + ": cannot replace: " + failed.message());
  }
  if (!sealed) std::filesystem::remove(temporary, failed);
  return sealed;
}

}  // namespace sonde
