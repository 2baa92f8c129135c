// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/live_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decode/testing/hand_made_recording.h"
#include "trace/testing/temp_dir.h"
#include "wire/testing/hand_made.h"

namespace sonde {
namespace {

using detail::ChunkHeader;
using detail::ExtendedKind;
using detail::kChunkBytes;
using testing::begin;
using testing::Bytes;
using testing::end;
using testing::extended;
using ::testing::HasSubstr;
using testing::join;
using testing::LiveChunks;
using testing::name_entry;
using testing::Words;

constexpr std::uint64_t kStream = 77;

Result<LiveBuffers> parse(const LiveChunks& live, std::uint64_t stream = kStream) {
  return LiveBuffers::parse(live.bytes(), "run.live", stream);
}

TEST(LiveBuffers, GiveTheWordsOfEachChunk) {
  LiveChunks live(kStream);
  const Words words = join({begin(10, 1), end(20)});
  live.events(3, 8, words);
  live.dictionary(name_entry(1, "work"));
  live.events(4, 0, words);
  const auto buffers = parse(live);
  ASSERT_TRUE(buffers) << buffers.error().message;
  ASSERT_EQ(buffers->pieces.size(), 2u);
  EXPECT_EQ(buffers->pieces[0].head.thread, 3u);
  EXPECT_EQ(buffers->pieces[0].head.sequence, 8u);
  EXPECT_EQ(buffers->pieces[0].words, words);
  ASSERT_EQ(buffers->dictionaries.size(), 1u);
  EXPECT_EQ(buffers->dictionaries[0], name_entry(1, "work"));
}

TEST(LiveBuffers, EndBeforeARecordThatWasBeingWritten) {
  LiveChunks live(kStream);
  Words words = join({begin(10, 1), extended(20, ExtendedKind::Counter, {1, 2})});
  words.pop_back();
  live.events(3, 0, words);
  const auto buffers = parse(live);
  ASSERT_TRUE(buffers);
  EXPECT_EQ(buffers->pieces[0].words, begin(10, 1));
}

TEST(LiveBuffers, LeaveOutChunksOfAnotherStream) {
  LiveChunks live(kStream);
  ChunkHeader stale = live.header(detail::kChunkEvents, 3, 0);
  stale.stream = kStream - 1;
  const Words words = begin(10, 1);
  live.add(stale, words.data(), words.size() * 8);
  const auto buffers = parse(live);
  ASSERT_TRUE(buffers);
  EXPECT_TRUE(buffers->pieces.empty());
}

TEST(LiveBuffers, LeaveOutChunksThatAreFreeOrClaimTheImpossible) {
  LiveChunks live(kStream);
  const Words words = begin(10, 1);
  for (const std::uint32_t committed : {1u, 63u, kChunkBytes + 8, ~0u}) {
    ChunkHeader odd = live.header(detail::kChunkEvents, 3, 0);
    odd.committed = committed;
    live.add(odd, words.data(), words.size() * 8);
  }
  live.add(live.header(detail::kChunkFree, 3, 0), words.data(), words.size() * 8);
  live.add(live.header(0xdeadbeef, 3, 0), words.data(), words.size() * 8);
  const auto buffers = parse(live);
  ASSERT_TRUE(buffers);
  EXPECT_TRUE(buffers->pieces.empty());
  EXPECT_TRUE(buffers->dictionaries.empty());
}

TEST(LiveBuffers, ReadAChunkThatIsFullToItsLastByte) {
  LiveChunks live(kStream);
  const Words words((kChunkBytes - detail::kChunkFirstWord) / 8, end(20)[0]);
  live.events(3, 0, words);
  const auto buffers = parse(live);
  ASSERT_TRUE(buffers);
  EXPECT_EQ(buffers->pieces[0].words.size(), words.size());
}

TEST(LiveBuffers, SurviveWordsOfAnyContent) {
  LiveChunks live(kStream);
  Words noise((kChunkBytes - detail::kChunkFirstWord) / 8);
  std::uint64_t state = 1;
  for (std::uint64_t& word : noise) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    word = state;
  }
  live.events(3, 0, noise);
  const auto buffers = parse(live);
  ASSERT_TRUE(buffers);
  for (const Piece& piece : buffers->pieces)
    EXPECT_EQ(whole_records(piece.words), piece.words.size());
}

TEST(LiveBuffers, AreReadAsFarAsTheirFileReaches) {
  LiveChunks live(kStream);
  live.events(3, 0, begin(10, 1));
  live.events(3, 1, begin(20, 1));
  const auto cut = std::span<const std::uint8_t>(live.bytes()).first(live.bytes().size() - 1);
  const auto buffers = LiveBuffers::parse(cut, "run.live", kStream);
  ASSERT_TRUE(buffers);
  EXPECT_EQ(buffers->pieces.size(), 1u);
}

TEST(LiveBuffers, AreRefusedWhereTheyAreNone) {
  LiveChunks live(kStream);
  live.events(3, 0, begin(10, 1));
  const auto other = parse(live, kStream + 1);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "run.live: belongs to another recording");
  const auto tiny =
      LiveBuffers::parse(std::span(live.bytes()).first(kChunkBytes - 1), "tiny", kStream);
  ASSERT_FALSE(tiny);
  EXPECT_EQ(tiny.error().message, "tiny: is too short for live buffers");
  const auto empty = LiveBuffers::parse({}, "empty", kStream);
  EXPECT_FALSE(empty);
  const Bytes noise(3 * std::size_t{kChunkBytes}, 0xa5);
  const auto garbage = LiveBuffers::parse(noise, "noise", kStream);
  ASSERT_FALSE(garbage);
  EXPECT_EQ(garbage.error().message, "noise: does not hold live buffers");
  EXPECT_FALSE(LiveBuffers::open("/no/such/file.live", kStream));
}

}  // namespace
}  // namespace sonde
