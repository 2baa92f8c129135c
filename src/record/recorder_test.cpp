// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What threads leave in their chunks, above all when memory runs out.

#include "record/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "collect/testing/recorded.h"
#include "decode/thread_decoder.h"
#include "record/testing/chunk_memory.h"
#include "sonde/record.h"

namespace sonde::detail {
namespace {

// A stream of a few chunks that nobody drains. Record on a separate thread, which leaves its chunk
// when it ends.
class UndrainedStream {
 public:
  explicit UndrainedStream(std::uint32_t chunks) {
    // A session of an earlier test may still be written out, with its own buffers attached.
    EXPECT_TRUE(sonde::testing::open_session({})->close());
    static std::uint64_t stream = 1'000;
    void* memory = testing::chunk_memory(chunks);
    pool.reset(memory, chunks, ++stream, {});
    attach_pool(&pool);
    // Chunks that hold names are not available for events here.
    dictionary().mirror_to(nullptr);
    pool.reset(memory, chunks, stream, {});
    set_recording(true);
  }
  ~UndrainedStream() { stop(); }
  void stop() {
    set_recording(false);
    detach_pool();
  }

  LiveLosses losses() const { return pool.losses(); }
  std::vector<Piece> pieces() const {
    std::vector<Piece> pieces;
    for (std::uint32_t i = 0; i < pool.chunk_count(); ++i) {
      const ChunkHeader* chunk = pool.chunk(i);
      if (chunk->state != kChunkEvents || chunk->stream != pool.stream()) continue;
      Piece piece;
      piece.head.thread = chunk->thread;
      piece.head.sequence = chunk->sequence;
      piece.head.first_offset = kChunkFirstWord;
      piece.head.base_ticks = chunk->base_ticks;
      piece.head.lost_before = chunk->lost_before;
      piece.head.lost_ends_before = chunk->lost_ends_before;
      const auto* words = reinterpret_cast<const std::uint64_t*>(chunk);
      piece.words.assign(words + kChunkFirstWord / 8, words + chunk->committed / 8);
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }
  DecodedThread decoded() const {
    const NameTable names;
    const TickMap clock({});
    return decode_thread(pieces(), {},
                         {&names, &clock, {{0, ~std::uint64_t{0}, 0, 0}}, read_ticks()});
  }

  Pool pool;

 private:
};

// Has a fixed number, so that it fits into a word however many sites came before it.
sonde_site deep = {"deep", "f", "a.cpp", 1, 1};

// Begins as many scopes as fit, at most `limit`.
std::uint64_t begin_all(std::uint64_t limit) {
  std::uint64_t begun = 0;
  while (begun < limit && sonde_begin(&deep) != 0) ++begun;
  return begun;
}

constexpr std::uint64_t kScopesPerChunk = (kBeginLimit - kChunkFirstWord) / 8;
constexpr std::uint64_t kReservedEnds = kEndReserveBytes / 8;

TEST(Recorder, KeepsRoomForEndsWhenMemoryRunsOut) {
  UndrainedStream stream(1);
  std::uint64_t begun = 0;
  std::thread([&] {
    begun = begin_all(kReservedEnds / 2);
    while (sonde_begin(&deep) != 0) sonde_end();
    for (std::uint64_t i = 0; i < begun; ++i) sonde_end();
  }).join();
  stream.stop();
  const DecodedThread thread = stream.decoded();
  EXPECT_EQ(thread.counts.unfinished, 0u);
  EXPECT_EQ(stream.losses().spans, 1u);
  EXPECT_EQ(stream.losses().ends, 0u);
}

TEST(Recorder, CountsTheEndsOfANestingDeeperThanThatRoom) {
  UndrainedStream stream(1);
  std::uint64_t begun = 0;
  std::thread([&] {
    begun = begin_all(~std::uint64_t{0});
    for (std::uint64_t i = 0; i < begun; ++i) sonde_end();
  }).join();
  stream.stop();
  EXPECT_EQ(begun, kScopesPerChunk);
  EXPECT_EQ(stream.losses().spans, 1u);
  EXPECT_EQ(stream.losses().ends, begun - kReservedEnds);
  const DecodedThread thread = stream.decoded();
  EXPECT_EQ(thread.spans.start_ns.size(), begun);
  EXPECT_EQ(thread.counts.unfinished, stream.losses().ends);
  EXPECT_EQ(thread.spans.flags[thread.spans.size() - 1], 0) << "the innermost ones have their ends";
}

TEST(Recorder, TellsInTheNextChunkWhatWasLostBefore) {
  UndrainedStream stream(2);
  ChunkHeader* withheld = stream.pool.take();
  std::thread([&] {
    const std::uint64_t begun = begin_all(~std::uint64_t{0});
    for (std::uint64_t i = 0; i < begun; ++i) sonde_end();
    sonde_instant(&deep);
    stream.pool.release(withheld);
    ASSERT_EQ(sonde_begin(&deep), 1);
    sonde_end();
  }).join();
  stream.stop();
  const std::uint64_t lost_ends = kScopesPerChunk - kReservedEnds;
  EXPECT_EQ(withheld->lost_ends_before, lost_ends);
  EXPECT_EQ(withheld->lost_before, lost_ends + 2);
  EXPECT_EQ(stream.losses().others, 1u);
  const DecodedThread thread = stream.decoded();
  EXPECT_EQ(thread.counts.lost, lost_ends + 2);
  EXPECT_FALSE(thread.spans.parent[thread.spans.size() - 1].valid())
      << "nothing is known to be open";
  EXPECT_EQ(thread.spans.flags[thread.spans.size() - 1], 0);
}

TEST(Recorder, EndsALapThatHasNoRoomForTheNext) {
  UndrainedStream stream(1);
  std::thread([&] {
    ASSERT_EQ(sonde_begin(&deep), 1);
    while (sonde_lap(&deep) != 0) {
    }
  }).join();
  stream.stop();
  EXPECT_EQ(stream.losses().spans, 1u);
  EXPECT_EQ(stream.losses().ends, 0u);
  EXPECT_EQ(stream.decoded().counts.unfinished, 0u);
}

TEST(Recorder, EndsARangeInTheRoomKeptForEnds) {
  UndrainedStream stream(1);
  std::thread([&] {
    const sonde_range range = sonde_range_begin("range", 5);
    while (sonde_begin(&deep) != 0) sonde_end();
    sonde_range_end(range);
  }).join();
  stream.stop();
  EXPECT_EQ(stream.losses().ends, 0u);
  EXPECT_EQ(stream.decoded().counts.unfinished, 0u);
}

TEST(Recorder, LosesARecordThatFitsNowhereAsAWhole) {
  UndrainedStream stream(1);
  const std::string text(4'096, 'x');
  int begun = 0;
  std::thread([&] {
    for (int i = 0; i < 20; ++i) {
      begun += sonde_begin(&deep);
      sonde_text(text.data(), text.size());
      sonde_end();
    }
  }).join();
  stream.stop();
  const DecodedThread thread = stream.decoded();
  EXPECT_EQ(begun, 20) << "scopes are small and still fit";
  EXPECT_EQ(thread.notes.texts.size() + stream.losses().others, 20u);
  EXPECT_EQ(thread.notes.texts.size(), 7u);
  EXPECT_EQ(thread.counts.undecodable - 20, 0u) << "but for the names, which this test leaves out";
}

TEST(Recorder, GivesTheChunkOfAThreadThatEndedToTheDrainer) {
  UndrainedStream stream(2);
  std::thread([&] { EXPECT_EQ(sonde_begin(&deep), 1); }).join();
  EXPECT_EQ(stream.pool.full_count(), 1u);
  stream.stop();
}

TEST(Recorder, NeverWritesToTheChunksOfAStreamThatIsOver) {
  UndrainedStream first(1);
  std::uint32_t committed = 0;
  std::thread([&] {
    ASSERT_EQ(sonde_begin(&deep), 1);
    committed = first.pool.chunk(0)->committed;
    first.stop();
    UndrainedStream second(1);
    sonde_end();
    EXPECT_EQ(sonde_begin(&deep), 1);
    EXPECT_EQ(second.pieces().size(), 1u);
    second.stop();
    sonde_end();
    EXPECT_EQ(sonde_begin(&deep), 0);
  }).join();
  EXPECT_EQ(first.pool.chunk(0)->committed, committed);
}

TEST(Recorder, TakesAnotherChunkWhenItsOwnIsTooOld) {
  UndrainedStream stream(3);
  std::thread([&] {
    ASSERT_EQ(sonde_begin(&deep), 1);
    leave_chunks_older_than(stream.pool, read_ticks() + 1);
    sonde_end();
    ASSERT_EQ(sonde_begin(&deep), 1);
    sonde_end();
  }).join();
  stream.stop();
  EXPECT_EQ(stream.pieces().size(), 2u);
  EXPECT_EQ(stream.decoded().counts.unfinished, 0u);
}

// The request comes at any moment of the thread's slow path.
TEST(Recorder, NeverForgetsThatAThreadIsToTakeAnotherChunk) {
  UndrainedStream stream(16);
  stream.pool.set_ring(true);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> scopes{0};
  std::thread writer([&] {
    while (!done) {
      if (sonde_begin(&deep) != 0) sonde_end();
      ++scopes;
    }
  });
  for (int round = 0; round < 2'000; ++round) {
    send_threads_the_slow_way();
    const std::uint64_t ticks = read_ticks();
    leave_chunks_older_than(stream.pool, ticks);
    const std::uint64_t before = scopes;
    while (scopes < before + 2) std::this_thread::yield();
    for_each_live_chunk(stream.pool, [&](ChunkHeader* chunk) {
      EXPECT_GE(__atomic_load_n(&chunk->base_ticks, __ATOMIC_RELAXED), ticks);
    });
  }
  done = true;
  writer.join();
}

TEST(Recorder, ShowsTheChunksThatThreadsAreFilling) {
  UndrainedStream stream(2);
  std::thread([&] {
    ASSERT_EQ(sonde_begin(&deep), 1);
    int live = 0;
    for_each_live_chunk(stream.pool, [&](ChunkHeader* chunk) {
      ++live;
      EXPECT_EQ(committed_bytes(chunk), kChunkFirstWord + 8);
    });
    EXPECT_EQ(live, 1);
    EXPECT_EQ(held_chunks(stream.pool.chunk(0), 2).size(), 1u);
  }).join();
  EXPECT_TRUE(held_chunks(stream.pool.chunk(0), 2).empty());
  stream.stop();
}

}  // namespace
}  // namespace sonde::detail
