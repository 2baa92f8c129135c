// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

#include "base/clock.h"
#include "record/listeners.h"
#include "record/probes.h"
#include "record/slow_path.h"
#include "record/thread_registry.h"
#include "sonde/detail/thread_cursor.h"
#include "sonde/sonde.h"

namespace sonde::detail {

void send_threads_the_slow_way() noexcept {
  thread_registry().for_each([](ThreadRecord& record) { set_limits(*record.cursor, 0, 0); });
}

void set_recording(bool on) noexcept {
  set_listening(kSession, on);
  follow_probes();
  static std::atomic<bool> was_probed{false};
  const bool is_probed = (listeners() & kProbes) != 0;
  if (was_probed.exchange(is_probed, std::memory_order_relaxed) != is_probed && is_probed)
    send_threads_the_slow_way();
}

namespace {

std::atomic<void (*)()> fork_before{nullptr};
std::atomic<void (*)()> fork_after_in_parent{nullptr};
std::atomic<void (*)()> fork_after_in_child{nullptr};
std::atomic<std::int64_t> process_id{0};
std::atomic<std::int64_t> forked_from{0};
std::uint32_t busy_before_fork =
    0;  // ThreadCursor::busy of the thread that forks, under both locks

void before_fork() {
  if (auto* before = fork_before.load()) before();
  // As QuietLock does: a signal handler on this thread must not wait for these locks.
  const std::uint32_t was_busy = sonde_detail_cursor.busy;
  sonde_detail_cursor.busy = kBusy;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread_registry().lock();
  dictionary().lock();
  busy_before_fork = was_busy;
}

void unlock_after_fork() {
  const std::uint32_t was_busy = busy_before_fork;
  dictionary().unlock();
  thread_registry().unlock();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  sonde_detail_cursor.busy = was_busy;
}

void after_fork_in_parent() {
  unlock_after_fork();
  if (auto* after = fork_after_in_parent.load()) after();
}

// The child has one thread. The buffers belong to its parent, so the child must never write to
// them.
void after_fork_in_child() {
  __atomic_fetch_and(&sonde_detail_recording, ~kSession, __ATOMIC_RELAXED);
  if (set_pool(nullptr)) forked_from.store(process_id.load());
  process_id.store(::getpid());
  forget_this_thread();
  thread_registry().forget_all();
  unlock_after_fork();
  dictionary().mirror_to(nullptr);
  if (auto* after = fork_after_in_child.load()) after();
}

void register_fork_handlers() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] {
    process_id.store(::getpid());
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  });
}

}  // namespace

void attach_pool(Pool* pool) {
  register_fork_handlers();
  thread_registry();
  dictionary().mirror_to(pool);
  set_pool(pool);
}

void detach_pool() {
  set_pool(nullptr);
  wait_for_slow_path();
  dictionary().mirror_to(nullptr);
  send_threads_the_slow_way();
}

std::vector<std::uint32_t> held_chunks(const void* memory, std::uint32_t chunk_count) {
  std::vector<std::uint32_t> held;
  const auto* first = static_cast<const char*>(memory);
  thread_registry().for_each([&](const ThreadRecord& record) {
    const auto* chunk = reinterpret_cast<const char*>(record.chunk.load(std::memory_order_acquire));
    if (chunk == nullptr || chunk < first ||
        chunk >= first + std::uint64_t{chunk_count} * kChunkBytes)
      return;
    held.push_back(static_cast<std::uint32_t>((chunk - first) / kChunkBytes));
  });
  return held;
}

void for_each_live_chunk(const Pool& pool, const std::function<void(ChunkHeader*)>& visit) {
  thread_registry().for_each([&](const ThreadRecord& record) {
    ChunkHeader* chunk = record.chunk.load(std::memory_order_acquire);  // pairs with next_chunk
    if (chunk != nullptr && pool.owns(chunk) &&
        __atomic_load_n(&chunk->stream, __ATOMIC_RELAXED) == pool.stream()) {
      visit(chunk);
    }
  });
}

void leave_chunks_older_than(Pool& pool, std::uint64_t ticks) {
  pool.leave_before(ticks);  // first: pairs with open_fast_path
  send_threads_the_slow_way();
}

void refresh_thread_names() {
  thread_registry().for_each([](ThreadRecord& record) {
    if (read_thread_name(record))
      dictionary().add_thread(record.thread, record.kernel_id, record.name);
  });
}

std::uint64_t measure_scope_ticks() {
  if (tick_source() != TickSource::Counter) return 0;
  constexpr int kBatches = 15;
  constexpr int kScopes = 50;
  alignas(64) static unsigned char spare[kChunkBytes];
  static sonde_site site = {"", "", "", 0, 1};
  auto* chunk = reinterpret_cast<ChunkHeader*>(spare);
  ThreadCursor& cursor = sonde_detail_cursor;
  const ThreadCursor kept = cursor;
  std::array<std::uint64_t, kBatches> batches{};
  for (std::uint64_t& batch : batches) {
    chunk->committed = kChunkFirstWord;
    cursor = {chunk, kBeginLimit, kEndLimit, 0, 0};
    const std::uint64_t before = read_ticks();
    for (int i = 0; i < kScopes; ++i) {
      write_begin(&site, WordKind::Begin);
      write_end();
    }
    batch = (read_ticks() - before) / kScopes;
    cursor = kept;
  }
  // A listener may have been added meanwhile.
  if (listening_word() != kSession) set_limits(cursor, 0, 0);
  std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
  return batches[kBatches / 2];
}

ForkState fork_state() noexcept {
  return {forked_from.load() != 0, forked_from.load()};
}

void on_fork_child(void (*handler)()) noexcept {
  fork_after_in_child.store(handler);
}

void on_fork_prepare(void (*before)(), void (*after_in_parent)()) noexcept {
  fork_before.store(before);
  fork_after_in_parent.store(after_in_parent);
}

}  // namespace sonde::detail
