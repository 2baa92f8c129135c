// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/slow_path.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "record/listeners.h"
#include "record/thread_registry.h"
#include "record/write.h"
#include "sonde/detail/thread_cursor.h"

namespace sonde::detail {
namespace {

// What a cursor points at before its thread has a chunk. It has no room.
constinit ChunkHeader no_chunk{~std::uint32_t{0}, kChunkFree, 0, 0, 0, 0, 0, 0, 0, 0, 0};

}  // namespace

extern "C" {
// In the section where attaching tools look for semaphores.
__attribute__((section(".probes"))) std::uint32_t sonde_detail_recording = 0;
__thread ThreadCursor sonde_detail_cursor = {&no_chunk, 0, 0, 0, 0};
}

#if SONDE_HAS_SDT
// The names that probes.cpp uses, for the linker.
__asm__(R"(
  .macro sonde_semaphore name
  .globl \name
  .hidden \name
  .set \name, sonde_detail_recording + 2
  .endm
  sonde_semaphore sonde_scope_begin_semaphore
  sonde_semaphore sonde_scope_end_semaphore
  sonde_semaphore sonde_mark_semaphore
)");
#endif

namespace {

__thread ThreadRecord* this_record __attribute__((tls_model("initial-exec"))) = nullptr;
__thread unsigned times_left __attribute__((tls_model("initial-exec"))) = 0;
__thread ThreadPast this_past __attribute__((tls_model("initial-exec"))) = {};

// ThreadCursor::busy of a thread that records nothing any more.
constexpr std::uint32_t kSilent = kBusy | 1;

std::atomic<Pool*> current_pool{nullptr};
std::atomic<std::uint32_t> slow_users{0};  // threads between SlowPath's constructor and destructor

pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
pthread_key_t exit_key;

// Gives up the thread's chunk: to the drainer if it belongs to the running stream, to the pool if
// it is left over from an earlier stream in the same memory.
void give_up_chunk(ThreadRecord& record, Pool* pool) noexcept {
  ChunkHeader* chunk = record.chunk.load(std::memory_order_relaxed);
  if (chunk == nullptr) return;
  if (pool != nullptr && pool->owns(chunk)) {
    if (record.stream.load(std::memory_order_relaxed) == pool->stream()) {
      chunk->payload_words = record.cursor->payload_words;
      pool->retire(chunk);
    } else {
      pool->release(chunk);
    }
  }
  // Last, so that the drainer finds the chunk either here or among the full ones: pairs with
  // for_each_live_chunk.
  record.chunk.store(nullptr, std::memory_order_release);
}

void leave_if_all_but_gone(Pool* pool) noexcept;

// While one exists, the calling thread is busy and may use the pool; detach_pool() waits for it.
class SlowPath {
 public:
  explicit SlowPath(ThreadCursor& cursor) noexcept : cursor_(cursor) {
    if (cursor.busy != 0) {
      Pool* const pool = current_pool.load(std::memory_order_acquire);  // pairs with set_pool
      if (pool != nullptr && cursor.busy != kSilent) pool->count_loss(&LiveLosses::in_signal);
      return;
    }
    entered_ = true;
    cursor.busy = kBusy;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    slow_users.fetch_add(1, std::memory_order_seq_cst);  // pairs with detach_pool
    pool_ = current_pool.load(std::memory_order_seq_cst);
  }
  ~SlowPath() {
    if (!entered_) return;
    leave_if_all_but_gone(pool_);
    slow_users.fetch_sub(1, std::memory_order_release);  // pairs with detach_pool
    std::atomic_signal_fence(std::memory_order_seq_cst);
    cursor_.busy = 0;
  }
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;

  // False: the thread was already busy.
  bool entered() const noexcept { return entered_; }
  // Null if no stream runs, or the thread was already busy.
  Pool* pool() const noexcept { return pool_; }

 private:
  ThreadCursor& cursor_;
  Pool* pool_ = nullptr;
  bool entered_ = false;
};

// Only while the thread is busy.
void leave(ThreadRecord* record, Pool* pool) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  if (read_own_name(*record))
    dictionary().add_thread(record->thread, record->kernel_id, record->name);
  give_up_chunk(*record, pool);
  cursor.chunk = &no_chunk;
  __atomic_store_n(&cursor.begin_limit, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&cursor.end_limit, 0, __ATOMIC_RELAXED);
  this_record = nullptr;
  this_past = {record->thread, record->next_sequence, record->next_async};
  thread_registry().leave(record);
}

void leave_thread(void* opaque) noexcept {
  // First of all: otherwise a signal handler could record while this thread holds a lock.
  const SlowPath slow(sonde_detail_cursor);
  ++times_left;
  leave(static_cast<ThreadRecord*>(opaque), slow.pool());
}

// Destructors of thread-specific data run in several rounds. After the last round nobody would take
// the thread out again, and its cursor would be written to after it is gone.
bool is_all_but_gone() noexcept {
  constexpr unsigned kRounds = 2;
  static_assert(kRounds < PTHREAD_DESTRUCTOR_ITERATIONS);
  return times_left >= kRounds;
}

// Such a thread leaves after each record, because nobody else would make it leave.
void leave_if_all_but_gone(Pool* pool) noexcept {
  if (this_record != nullptr && is_all_but_gone()) leave(this_record, pool);
}

// Null if the system has no memory left.
ThreadRecord* enter_thread(ThreadCursor& cursor) noexcept {
  if (this_record != nullptr) return this_record;
  follow_counter();
  pthread_once(&exit_key_once, [] { pthread_key_create(&exit_key, leave_thread); });
  this_record = thread_registry().enter(&cursor, this_past);
  // Runs leave_thread when the thread ends, and again if something records after that.
  if (this_record != nullptr && !is_all_but_gone()) pthread_setspecific(exit_key, this_record);
  return this_record;
}

ChunkHeader* next_chunk(ThreadRecord& record, ThreadCursor& cursor, Pool& pool) noexcept {
  ChunkHeader* chunk = pool.take();
  if (chunk == nullptr) return nullptr;
  give_up_chunk(record, &pool);
  __atomic_store_n(&chunk->committed, kChunkFirstWord, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->stream, pool.stream(), __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->thread, record.thread, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->sequence, record.next_sequence++, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->base_ticks, read_ticks(), __ATOMIC_RELAXED);
  chunk->payload_words = 0;
  // The drainer may still be counting what this chunk held before.
  __atomic_store_n(&chunk->drained, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->lost_before, record.lost, __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->lost_ends_before, record.lost_ends, __ATOMIC_RELAXED);
  record.lost = 0;
  record.lost_ends = 0;
  __atomic_store_n(&chunk->state, kChunkEvents, __ATOMIC_RELEASE);  // pairs with copy_chunk
  cursor.chunk = chunk;
  cursor.payload_words = 0;
  record.stream.store(pool.stream(), std::memory_order_relaxed);
  record.chunk.store(chunk, std::memory_order_release);  // pairs with for_each_live_chunk
  return chunk;
}

// Lets the thread take the inlined path if only sessions listen.
void open_fast_path(const ThreadRecord& record, ThreadCursor& cursor, const Pool& pool) noexcept {
  // With a slow clock, every record takes the slow path.
  if (tick_source() != TickSource::Counter || has_given_up_counter() || !record.told.empty())
    return;
  set_limits(cursor, kBeginLimit, kEndLimit);
  // A new listener sets its bit first and then the limits to 0, and who asks for another chunk does
  // likewise: one of us sees the other.
  if (__atomic_load_n(&sonde_detail_recording, __ATOMIC_SEQ_CST) != kSession ||
      pool.is_to_be_left(cursor.chunk))
    set_limits(cursor, 0, 0);
}

// The offset of `words` free words below `limit` in the thread's chunk. Takes a new chunk if
// needed; 0 if there is no memory for one.
std::uint32_t make_room(ThreadRecord& record, ThreadCursor& cursor, Pool& pool, std::uint32_t words,
                        std::uint32_t limit) noexcept {
  ChunkHeader* chunk = record.chunk.load(std::memory_order_relaxed);
  const bool current =
      chunk != nullptr && record.stream.load(std::memory_order_relaxed) == pool.stream();
  if (!current && chunk != nullptr) {
    // First, because the pool may have no other chunk.
    give_up_chunk(record, &pool);
    cursor.chunk = &no_chunk;
  }
  bool fits = current && chunk->committed + words * 8 <= limit;
  if (!fits || pool.is_to_be_left(chunk)) {
    chunk = next_chunk(record, cursor, pool);
    fits = chunk != nullptr;
  }
  if (!fits) return 0;
  open_fast_path(record, cursor, pool);
  return chunk->committed;
}

void store_words(ChunkHeader* chunk, std::uint32_t offset, const std::uint64_t* words,
                 std::uint32_t count) noexcept {
  auto* at = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(chunk) + offset);
  for (std::uint32_t i = 0; i < count; ++i) __atomic_store_n(at + i, words[i], __ATOMIC_RELAXED);
  __atomic_store_n(&chunk->committed, offset + count * 8,
                   __ATOMIC_RELEASE);  // pairs with committed_bytes
}

void count_loss(ThreadRecord& record, Pool& pool, Loss loss) noexcept {
  ++record.lost;
  if (loss == Loss::End) ++record.lost_ends;
  pool.count_loss(loss == Loss::Span  ? &LiveLosses::spans
                  : loss == Loss::End ? &LiveLosses::ends
                                      : &LiveLosses::others);
}

// The words of a payload, for callers that take something that stores itself.
struct WordPayload {
  const std::uint64_t* words;
  std::uint32_t count;

  std::uint32_t size() const noexcept { return count; }
  void store(std::uint64_t* at) const noexcept {
    for (std::uint32_t i = 0; i < count; ++i) __atomic_store_n(at + i, words[i], __ATOMIC_RELAXED);
  }
};

// Writes an extended record; returns its position, 0 if it was lost.
template <typename Payload>
std::uint64_t write_extended(ThreadRecord& record, Pool& pool, ExtendedKind kind,
                             const Payload& payload, Loss loss) noexcept {
  const std::uint32_t payload_count = payload.size();
  ThreadCursor& cursor = *record.cursor;
  const std::uint32_t limit = loss == Loss::End ? kEndLimit : kBeginLimit;
  const std::uint32_t offset = make_room(record, cursor, pool, payload_count + 1, limit);
  if (offset == 0) {
    count_loss(record, pool, loss);
    return 0;
  }
  ChunkHeader* chunk = cursor.chunk;
  auto* at = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(chunk) + offset);
  payload.store(at + 1);
  __atomic_store_n(at, make_extended(read_ticks(), kind, payload_count), __ATOMIC_RELAXED);
  cursor.payload_words += payload_count;
  __atomic_store_n(&chunk->committed, offset + (payload_count + 1) * 8, __ATOMIC_RELEASE);
  return make_position(chunk->sequence, offset);
}

void write_plain_end(ThreadRecord& record, Pool& pool) noexcept {
  const std::uint32_t offset = make_room(record, *record.cursor, pool, 1, kEndLimit);
  if (offset == 0) return count_loss(record, pool, Loss::End);
  const std::uint64_t word = make_word(read_ticks(), 0, WordKind::End);
  store_words(record.cursor->chunk, offset, &word, 1);
}

// The number that this thread remembers for a name; 0 if none.
std::uint32_t known_name(std::uint64_t hash) noexcept {
  return this_record != nullptr ? this_record->names.find(hash) : 0;
}

// Only in the slow path.
std::uint32_t id_of(sonde_site* site) noexcept {
  const std::uint32_t id = __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);
  return id != 0 ? id : dictionary().site_id(site);
}

// Every record that is not a plain scope goes through here: calls body(record, pool) if a stream
// runs.
template <typename Body>
void in_slow_path(Body&& body) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  const SlowPath slow(cursor);
  if (slow.pool() == nullptr) return;
  if (ThreadRecord* record = enter_thread(cursor)) {
    body(*record, *slow.pool());
  } else {
    slow.pool()->count_loss(&LiveLosses::spans);
  }
}

// Calls body(record) with the thread busy, for code that takes the dictionary's lock: a handler
// that interrupts us must not wait for that lock. Counts no loss, because the record that needs the
// number does.
template <typename Body>
void in_dictionary(Body&& body) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  if (cursor.busy != 0) return;
  const SlowPath slow(cursor);
  if (slow.pool() == nullptr) return;
  if (ThreadRecord* record = enter_thread(cursor)) body(*record);
}

}  // namespace

std::uint32_t site_number(sonde_site* site) noexcept {
  std::uint32_t id = __atomic_load_n(&site->id, __ATOMIC_ACQUIRE);
  if (id == 0) in_dictionary([&](ThreadRecord& /*record*/) { id = id_of(site); });
  return id;
}

std::uint32_t name_number(std::string_view text) noexcept {
  const std::uint64_t hash = name_hash(text);
  std::uint32_t number = known_name(hash);
  if (number != 0) return number;
  in_dictionary([&](ThreadRecord& record) {
    number = dictionary().name_id(text);
    if (number != 0) record.names.put(hash, number);
  });
  return number;
}

std::uint32_t place_number(std::string_view place) noexcept {
  std::uint32_t number = 0;
  in_dictionary([&](ThreadRecord& /*record*/) { number = dictionary().place_id(place); });
  return number;
}

namespace {

template <typename Payload>
inline __attribute__((always_inline)) Written write_payload(ExtendedKind kind,
                                                            const Payload& payload,
                                                            Loss loss) noexcept {
  if (this_record != nullptr) {
    const PutAt put = put_with(sonde_detail_cursor, kind, payload.size(),
                               [&](std::uint64_t* at) { payload.store(at); });
    if (put.chunk != nullptr)
      return {make_position(put.chunk->sequence, put.offset), this_record->thread};
  }
  Written written;
  in_slow_path([&](ThreadRecord& record, Pool& pool) {
    written = {write_extended(record, pool, kind, payload, loss), record.thread};
  });
  return written;
}

}  // namespace

Written write_record(ExtendedKind kind, const std::uint64_t* payload, std::uint32_t payload_count,
                     Loss loss) noexcept {
  return write_payload(kind, WordPayload{payload, payload_count}, loss);
}

Written write_record(ExtendedKind kind, const TextPayload& payload, Loss loss) noexcept {
  return write_payload(kind, payload, loss);
}

void TextPayload::store(std::uint64_t* at) const noexcept {
  WordPayload{words, word_count}.store(at);
  at += word_count;
  for (std::string_view rest = bytes; !rest.empty(); ++at) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(rest.size(), sizeof(word));
    std::memcpy(&word, rest.data(), size);
    __atomic_store_n(at, word, __ATOMIC_RELAXED);
    rest.remove_prefix(size);
  }
}

Written put_range_begin(std::string_view name) noexcept {
  const std::uint64_t number = known_name(name_hash(name));
  if (number == 0) return {};
  const auto store = [number](std::uint64_t* at) {
    __atomic_store_n(at, number, __ATOMIC_RELAXED);
  };
  const PutAt put = put_with(sonde_detail_cursor, ExtendedKind::BeginRange, 1, store);
  if (put.chunk == nullptr) return {};
  return {make_position(put.chunk->sequence, put.offset), this_record->thread};
}

bool put_range_end(const Written& begin) noexcept {
  return this_record != nullptr && this_record->thread == begin.thread &&
         put_extended(sonde_detail_cursor, ExtendedKind::EndRange, &begin.position, 1) != 0;
}

std::uint64_t thread_number() noexcept {
  return this_record != nullptr ? this_record->thread : 0;
}

std::uint64_t next_async_number() noexcept {
  std::uint64_t number = 0;
  in_slow_path([&](ThreadRecord& record, Pool& /*pool*/) {
    number = (record.thread << 32) | (++record.next_async & 0xffffffffu);
  });
  return number;
}

namespace {

bool write_begin_word(ThreadRecord& record, Pool& pool, sonde_site* site, WordKind kind) noexcept {
  const std::uint32_t id = id_of(site);
  const bool fits_word = id != 0 && id <= kMaxWordId;
  if (const std::uint32_t offset =
          fits_word ? make_room(record, *record.cursor, pool, 1, kBeginLimit) : 0) {
    const std::uint64_t word = make_word(read_ticks(), id, kind);
    store_words(record.cursor->chunk, offset, &word, 1);
    return true;
  }
  if (kind == WordKind::Lap) write_plain_end(record, pool);  // the lap before ends here
  if (id <= kMaxWordId) {
    count_loss(record, pool, Loss::Span);
    return false;
  }
  const std::uint64_t payload = id;
  return write_extended(record, pool, ExtendedKind::BeginWide, WordPayload{&payload, 1},
                        Loss::Span) != 0;
}

// Whether this thread must remember its scopes one by one: tools listen, or have yet to see some
// scopes end.
bool tells() noexcept {
  return (listeners() & kTools) != 0 || (this_record != nullptr && !this_record->told.empty());
}

// Begins a scope, or something that ends like one, for everyone in `who`. True if somebody saw it.
template <typename Name, typename Write>
bool begin_told(Listeners who, Name&& name, Write&& write) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  const SlowPath slow(cursor);
  ThreadRecord* const record = slow.entered() ? enter_thread(cursor) : nullptr;
  if (record == nullptr) return false;
  Listeners told = 0;
  // A thread that is nearly gone could not notify them of the end.
  if ((who & kTools) != 0 && record->told.has_room() && !is_all_but_gone())
    told = tell_push(*record, who, name());
  if ((who & kSession) != 0 && slow.pool() != nullptr && write(*record, *slow.pool()))
    told |= kSession;
  if (told != 0) record->told.push(told);
  return told != 0;
}

void end_told(ThreadRecord& record) noexcept {
  const SlowPath slow(sonde_detail_cursor);
  if (!slow.entered()) return;
  const Listeners told = record.told.pop();
  if ((told & kSession) != 0 && slow.pool() != nullptr) write_plain_end(record, *slow.pool());
  tell_pop(record, told);
}

}  // namespace

const char* OpName::find(std::uint32_t number) noexcept {
  dictionary().copy_name(number, text_, sizeof(text_));
  if (char* const overload = std::strchr(text_, '\x1f')) *overload = '\0';
  return text_;
}

bool begin_slow(sonde_site* site, WordKind kind) noexcept {
  if (tells()) {
    if (kind == WordKind::Lap) end_slow();
    return begin_told(
        listeners(), [&] { return site->name; },
        [&](ThreadRecord& record, Pool& pool) {
          return write_begin_word(record, pool, site, WordKind::Begin);
        });
  }
  bool written = false;
  in_slow_path([&](ThreadRecord& record, Pool& pool) {
    written = write_begin_word(record, pool, site, kind);
  });
  return written;
}

bool op_begin_slow(const std::uint64_t* payload, std::uint32_t payload_count) noexcept {
  if (!tells())
    return write_record(ExtendedKind::OpBegin, payload, payload_count, Loss::Span).position != 0;
  OpName text;
  // Sources notify the other tools of operators themselves, because they know what to call them.
  return begin_told(
      listeners() & (kSession | kProbes),
      [&] { return text.find(static_cast<std::uint32_t>(payload[0])); },
      [&](ThreadRecord& record, Pool& pool) {
        return write_extended(record, pool, ExtendedKind::OpBegin,
                              WordPayload{payload, payload_count}, Loss::Span) != 0;
      });
}

void end_slow() noexcept {
  if (this_record != nullptr && !this_record->told.empty()) return end_told(*this_record);
  in_slow_path([&](ThreadRecord& record, Pool& pool) { write_plain_end(record, pool); });
}

void call_while_busy(void (*body)(ThreadRecord&, void*), void* argument) noexcept {
  ThreadCursor& cursor = sonde_detail_cursor;
  const SlowPath slow(cursor);
  ThreadRecord* const record = slow.entered() ? enter_thread(cursor) : nullptr;
  if (record != nullptr) body(*record, argument);
}

void set_limits(ThreadCursor& cursor, std::uint32_t begin, std::uint32_t end) noexcept {
  __atomic_store_n(&cursor.begin_limit, begin, __ATOMIC_SEQ_CST);
  __atomic_store_n(&cursor.end_limit, end, __ATOMIC_SEQ_CST);
}

bool set_pool(Pool* pool) noexcept {
  return current_pool.exchange(pool, std::memory_order_seq_cst) != nullptr;
}

void wait_for_slow_path() noexcept {
  while (slow_users.load(std::memory_order_seq_cst) != 0) sched_yield();  // pairs with SlowPath
}

void lose_counter() noexcept {
  give_up_counter();
  set_limits(sonde_detail_cursor, 0, 0);
}

void fall_silent() noexcept {
  sonde_detail_cursor.busy = kSilent;
}

void forget_this_thread() noexcept {
  slow_users.store(0);
  ThreadCursor& cursor = sonde_detail_cursor;
  cursor = {&no_chunk, 0, 0, cursor.busy, 0};
  if (this_record == nullptr) return;
  this_record = nullptr;
  this_past = {};
  pthread_setspecific(exit_key, nullptr);
}

}  // namespace sonde::detail
