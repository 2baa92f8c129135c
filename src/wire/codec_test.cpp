// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wire/codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace sonde {
namespace {

using detail::ExtendedKind;
using detail::make_extended;
using detail::make_word;
using detail::WordKind;

EventsHead head_for(const std::vector<std::uint64_t>& words, std::uint64_t base = 1'000'000) {
  return {.thread = 7,
          .sequence = 3,
          .first_offset = 64,
          .word_count = static_cast<std::uint32_t>(words.size()),
          .base_ticks = base,
          .lost_before = 2,
          .lost_ends_before = 1};
}

std::vector<std::uint64_t> round_trip(const std::vector<std::uint64_t>& words,
                                      std::uint64_t base = 1'000'000) {
  std::vector<std::uint8_t> bytes;
  encode_events(head_for(words, base), words, bytes);
  std::vector<std::uint64_t> back;
  const auto head = decode_events(bytes, back);
  EXPECT_TRUE(head.has_value());
  if (head) {
    EXPECT_EQ(head->thread, 7u);
    EXPECT_EQ(head->sequence, 3u);
    EXPECT_EQ(head->lost_before, 2u);
  }
  return back;
}

TEST(Codec, GivesBackTheWordsItWasGiven) {
  const std::vector<std::uint64_t> words = {
      make_word(1'000'100, 5, WordKind::Begin),
      make_word(1'000'200, 65535, WordKind::Begin),
      make_word(1'000'250, 6, WordKind::Lap),
      make_extended(1'000'260, ExtendedKind::Counter, 2),
      9,
      0xffff'ffff'ffff'ffffu,
      make_word(1'000'270, 0, WordKind::End),
      make_word(1'000'269, 0, WordKind::End),  // the counter ran back by one
      make_extended(1'000'300, ExtendedKind::Instant, 1),
      0,
  };
  EXPECT_EQ(round_trip(words), words);
}

// Differences and values of every length, followed by many bytes and by none.
TEST(Codec, KeepsNumbersOfAnyLength) {
  std::vector<std::uint64_t> words;
  std::uint64_t ticks = 1'000'000;
  for (unsigned bits = 0; bits < 45; ++bits) {
    for (const std::uint64_t by : {std::uint64_t{1} << bits, (std::uint64_t{1} << bits) - 1}) {
      ticks = (ticks + by) & detail::kTicksMask;
      words.push_back(make_word(ticks, 1u << bits % 16, WordKind::Begin));
      ticks = (ticks - by / 3) & detail::kTicksMask;
      words.push_back(make_word(ticks, 0, WordKind::End));
      EXPECT_EQ(round_trip(words), words) << bits;
    }
  }
}

TEST(Codec, SurvivesTheWrapOfTheLowBits) {
  const std::uint64_t base = (std::uint64_t{3} << 46) - 10;
  const std::vector<std::uint64_t> words = {
      make_word((base + 5) & detail::kTicksMask, 1, WordKind::Begin),
      make_word((base + 50) & detail::kTicksMask, 0, WordKind::End)};
  EXPECT_EQ(round_trip(words, base), words);
  EXPECT_EQ(full_ticks(words[0], base), base + 5);
  EXPECT_EQ(full_ticks(words[1], base), base + 50);
  EXPECT_EQ(full_ticks(make_word((base - 3) & detail::kTicksMask, 0, WordKind::End), base),
            base - 3);
}

TEST(Codec, NeedsFewerThanTenBytesForAScopeOfTenMicroseconds) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    words.push_back(make_word(1'000'000 + i * 40'000, 100, WordKind::Begin));
    words.push_back(make_word(1'000'000 + i * 40'000 + 30'000, 0, WordKind::End));
  }
  std::vector<std::uint8_t> bytes;
  encode_events(head_for(words), words, bytes);
  EXPECT_LT(bytes.size(), 1000u * 10u);
}

// A payload for a record of this kind: what a program would write, or random words.
std::vector<std::uint64_t> some_payload(std::mt19937_64& random, bool is_sane) {
  std::vector<std::uint64_t> payload(1 + random() % 9);
  for (std::uint64_t& word : payload) word = is_sane ? random() >> (random() % 64) : random();
  if (random() % 2 == 0) {
    payload[0] = (payload.size() - 1) * 8 - (payload.size() > 1 ? random() % 8 : 0);
    if (const std::uint64_t odd = payload[0] % 8; odd != 0 && random() % 4 != 0)
      payload.back() &= (std::uint64_t{1} << (odd * 8)) - 1;
  }
  return payload;
}

TEST(Codec, PacksPayloadsOfEveryKindAndLength) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint64_t> words;
    std::uint64_t ticks = 1'000'000;
    while (words.size() < 400) {
      const auto payload = some_payload(random, round % 2 == 0);
      words.push_back(make_extended(ticks += random() % 1000,
                                    static_cast<ExtendedKind>(random() % 64),
                                    static_cast<std::uint32_t>(payload.size())));
      words.insert(words.end(), payload.begin(), payload.end());
    }
    ASSERT_EQ(round_trip(words), words) << round;
  }
}

TEST(Codec, StoresAnAllocationInAQuarterOfItsBytes) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t bytes = i % 2 == 0 ? 4096 : 0 - std::uint64_t{4096};
    words.push_back(make_extended(1'000'000 + i * 1000, ExtendedKind::Allocation, 5));
    const std::uint64_t address = 0x7f0000000000 + i / 2 * 65536;
    words.insert(words.end(), {address, bytes, i % 2 == 0 ? 9'004'096u : 9'000'000u, 1u << 24, 0});
  }
  std::vector<std::uint8_t> bytes;
  encode_events(head_for(words), words, bytes);
  EXPECT_LT(bytes.size(), words.size() * 8 / 4);
  EXPECT_EQ(round_trip(words), words);
}

// As version 1 wrote it: payload words unchanged, and no flag for packing in the head.
TEST(Codec, ReadsPiecesOfVersionOne) {
  const std::vector<std::uint64_t> words = {make_word(1'000'001, 5, WordKind::Begin),
                                            make_extended(1'000'003, ExtendedKind::Counter, 2), 9,
                                            1, make_word(1'000'003, 0, WordKind::End)};
  const EventsHead head = head_for(words);
  std::vector<std::uint8_t> bytes(sizeof(head));
  std::memcpy(bytes.data(), &head, sizeof(head));
  const std::uint32_t value = detail::word_value(words[1]);
  for (const std::uint32_t byte :
       {1u << 3 | 1u, 5u, 2u << 3 | 3u, (value & 0x7f) | 0x80, value >> 7})
    bytes.push_back(static_cast<std::uint8_t>(byte));
  bytes.insert(bytes.end(), {9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2});
  std::vector<std::uint64_t> back;
  const auto read = decode_events(bytes, back);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first_offset, 64u);
  EXPECT_EQ(back, words);
}

TEST(Codec, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  const std::vector<std::uint64_t> words = {make_word(1'000'100, 5, WordKind::Begin),
                                            make_extended(1'000'260, ExtendedKind::Counter, 2),
                                            9,
                                            1,
                                            make_extended(1'000'263, ExtendedKind::OpInputs, 3),
                                            11,
                                            ~std::uint64_t{0},
                                            0xffffff,
                                            make_extended(1'000'265, ExtendedKind::Allocation, 5),
                                            1u << 30,
                                            4096,
                                            4096,
                                            1,
                                            7,
                                            make_word(1'000'270, 0, WordKind::End)};
  std::vector<std::uint8_t> bytes;
  encode_events(head_for(words), words, bytes);
  std::vector<std::uint64_t> back;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_events(std::span(bytes).first(size), back)) << size;
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::uint8_t> damaged = bytes;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1u << (bit % 8)));
    if (decode_events(damaged, back)) {
      EXPECT_EQ(whole_records(back), back.size());
    }
  }
}

TEST(Codec, RefusesWordsThatReachPastTheirChunk) {
  const std::vector<std::uint64_t> words(10, make_word(1'000'100, 0, WordKind::End));
  std::vector<std::uint64_t> back;
  for (const std::uint32_t offset :
       {0u, 56u, 68u, detail::kChunkBytes - 72, detail::kChunkBytes, ~0u - 7}) {
    EventsHead head = head_for(words);
    head.first_offset = offset;
    std::vector<std::uint8_t> bytes;
    encode_events(head, words, bytes);
    EXPECT_FALSE(decode_events(bytes, back)) << offset;
  }
  EventsHead last = head_for(words);
  last.first_offset = detail::kChunkBytes - 80;
  std::vector<std::uint8_t> bytes;
  encode_events(last, words, bytes);
  EXPECT_TRUE(decode_events(bytes, back));
}

TEST(Codec, CountsOnlyWholeRecords) {
  const std::vector<std::uint64_t> words = {make_word(1, 5, WordKind::Begin),
                                            make_extended(2, ExtendedKind::Counter, 2), 9};
  EXPECT_EQ(whole_records(words), 1u);
}

}  // namespace
}  // namespace sonde
