// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "sonde/trace/tables_gen.h"

namespace sonde {
namespace {

constexpr int kRows = 20'000;

// A plain column and a packed one that are filled alike. make(random, i) gives the values; some are
// written to rows of long ago.
template <typename T, typename Make>
std::pair<Column<T>, Column<T>> filled_alike(T null, const Make& make) {
  Column<T> plain(null);
  Column<T> packed(null);
  packed.pack();
  std::mt19937_64 random(1);
  for (int i = 0; i < kRows; ++i) {
    const T value = make(random, i);
    plain.push_back(value);
    packed.push_back(value);
    if (i % 7 != 0) continue;
    const std::size_t row = random() % static_cast<std::size_t>(i + 1);
    const T late = make(random, i);
    plain.set(row, late);
    packed.set(row, late);
  }
  return {std::move(plain), std::move(packed)};
}

// read() and find() from rows at the start, in the middle and at the end of blocks.
template <typename T>
void expect_reads_alike(const Column<T>& plain, const Column<T>& packed) {
  for (const int row : {0, 1, 1023, 1024, 5000, kRows - 1}) {
    const auto first = static_cast<std::size_t>(row);
    const std::size_t count = std::min<std::size_t>(plain.size() - first, 3000);
    std::vector<T> from_plain(count);
    std::vector<T> from_packed(count);
    plain.read(first, count, from_plain.data());
    packed.read(first, count, from_packed.data());
    EXPECT_EQ(std::memcmp(from_plain.data(), from_packed.data(), sizeof(T) * count), 0) << first;
    for (const std::size_t wanted : {first, first + count / 2, first + count - 1}) {
      const auto is_wanted = [value = plain[wanted]](T other) { return other == value; };
      EXPECT_EQ(packed.find(first, first + count, is_wanted),
                plain.find(first, first + count, is_wanted));
    }
    const auto is_none = [](T) { return false; };
    EXPECT_EQ(packed.find(first, first + count, is_none), first + count);
  }
}

template <typename T, typename Make>
void expect_alike(T null, const Make& make) {
  auto [plain, packed] = filled_alike<T>(null, make);
  ASSERT_TRUE(packed == plain);
  packed.seal();
  ASSERT_TRUE(packed == plain);
  EXPECT_EQ(std::memcmp(packed.data(), plain.data(), sizeof(T) * kRows), 0);
  const Column<T> copy = packed;
  EXPECT_TRUE(copy == plain);
  expect_reads_alike(plain, packed);
  const auto drop_thirds = [null](std::size_t first, T* values, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      if ((first + i) % 3 == 0) values[i] = null;
    }
    return true;
  };
  plain.change_stretches(drop_thirds);
  packed.change_stretches(drop_thirds);
  EXPECT_TRUE(packed == plain);
  for (const std::size_t rows : {std::size_t{30'000}, std::size_t{1'500}, std::size_t{10}}) {
    plain.resize(rows);
    packed.resize(rows);
    EXPECT_TRUE(packed == plain) << rows;
  }
  packed.mutable_data();
  EXPECT_TRUE(packed == plain);
}

TEST(PackedColumn, HoldsWhatAPlainOneHolds) {
  expect_alike<Nanos>(0, [](auto& random, int i) {
    return Nanos{1'700'000'000'000'000'000} + i * 400 + static_cast<Nanos>(random() % 100);
  });
  expect_alike<std::int64_t>(-1, [](auto& random, int i) { return random() % 3 == 0 ? -1 : i; });
  expect_alike<std::int64_t>(0,
                             [](auto& random, int) { return static_cast<std::int64_t>(random()); });
  expect_alike<std::int32_t>(
      -1, [](auto& random, int) { return static_cast<std::int32_t>(random() % 70'000) - 35'000; });
  expect_alike<std::uint8_t>(
      0, [](auto& random, int i) { return static_cast<std::uint8_t>(i > 5'000 ? 3 : random()); });
  expect_alike<std::uint64_t>(
      0, [](auto& random, int) { return 0x7f0000000000 + random() % 4096 * 4096; });
  expect_alike<SpanId>(
      SpanId(), [](auto& random, int i) { return random() % 1000 == 0 ? SpanId() : SpanId(i); });
  expect_alike<SpanKind>(SpanKind::Scope,
                         [](auto& random, int) { return static_cast<SpanKind>(random() % 30); });
}

TEST(PackedColumn, HoldsTheExtremesOfItsType) {
  using Limits = std::numeric_limits<std::int64_t>;
  expect_alike<std::int64_t>(-1, [](auto& random, int i) {
    const std::int64_t extremes[] = {Limits::min(), Limits::max(), -1, 0, 1};
    return extremes[i < 10'000 ? random() % 5 : 2 + random() % 3];
  });
  expect_alike<std::uint64_t>(0, [](auto& random, int) {
    return random() % 2 == 0 ? 0 : ~std::uint64_t{0} - random() % 2;
  });
}

TEST(PackedColumn, LeavesFloatingPointNumbersAsTheyAre) {
  Column<double> column(0.0);
  column.pack();
  for (int i = 0; i < 5000; ++i) column.push_back(i == 4000 ? -0.0 : std::nan(""));
  EXPECT_TRUE(std::signbit(column[4000]));
  EXPECT_TRUE(std::isnan(column[4999]));
}

TEST(PackedColumn, TakesThreeBytesForATimeAndNothingForWhatIsTheSame) {
  Column<Nanos> times;
  times.pack();
  Column<TrackId> tracks;
  tracks.pack();
  constexpr std::size_t kMany = 1'000'000;
  for (std::size_t i = 0; i < kMany; ++i) times.push_back(static_cast<Nanos>(i) * 1000);
  times.seal();
  tracks.fill(TrackId(7), kMany);
  tracks.seal();
  EXPECT_LT(times.memory_bytes(), kMany * 4);
  EXPECT_LT(tracks.memory_bytes(), kMany / 10);
  EXPECT_EQ(tracks[kMany - 1], TrackId(7));
}

TEST(PackedColumn, IsJoinedWithOthersWhateverTheirRows) {
  Column<std::int32_t> all(-1);
  all.pack();
  Column<std::int32_t> expected(-1);
  for (const int rows : {3, 1021, 5000, 1, 0, 1024, 2048}) {
    Column<std::int32_t> more(-1);
    if (rows != 5000) more.pack();
    for (int i = 0; i < rows; ++i) {
      more.push_back(i % 5 - 1);
      expected.push_back(i % 5 - 1);
    }
    all.append(std::move(more));
  }
  Column<std::int32_t> nulls(-1);
  nulls.resize(3000);
  all.append(std::move(nulls));
  expected.resize(expected.size() + 3000);
  all.fill(9, 2000);
  expected.fill(9, 2000);
  EXPECT_TRUE(all == expected);
}

TEST(PackedColumn, IsReadAndExtendedManyRowsAtATime) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 5000; ++i) values.push_back(i % 7 == 0 ? -1 : i * i);
  for (const bool packs : {false, true}) {
    Column<std::int64_t> column(-1);
    if (packs) column.pack();
    for (std::size_t at = 0, rows = 1; at < values.size(); at += rows, rows *= 3)
      column.append(values.data() + at, std::min(rows, values.size() - at));
    constexpr std::size_t kFirst[] = {0, 1, 1023, 1024, 4000};
    constexpr std::size_t kCount[] = {0, 1, 24, 1000};
    for (const std::size_t first : kFirst) {
      for (const std::size_t rows : kCount) {
        std::vector<std::int64_t> read(rows);
        column.read(first, rows, read.data());
        for (std::size_t i = 0; i < rows; ++i) ASSERT_EQ(read[i], values[first + i]);
      }
    }
  }
  Column<std::int64_t> nulls(-1);
  nulls.resize(10);
  std::int64_t read = 0;
  nulls.read(9, 1, &read);
  EXPECT_EQ(read, -1);
}

// Every write may go to another block than the one before.
TEST(PackedColumn, TakesWritesInAnyOrder) {
  Column<std::uint32_t> column;
  column.pack();
  for (std::uint32_t i = 0; i < 10 * 1024; ++i) column.push_back(i);
  for (std::size_t i = 0; i < 1024; ++i) {
    for (std::size_t block = 0; block < 10; ++block)
      column.set(block * 1024 + i, static_cast<std::uint32_t>(7 * (block * 1024 + i)));
  }
  column.push_back(5);
  for (std::size_t i = 0; i < 10 * 1024; ++i) ASSERT_EQ(column[i], 7 * i);
  EXPECT_EQ(column[10 * 1024], 5u);
}

TEST(PackedColumn, IsReadByManyThreadsAtOnce) {
  Column<std::int64_t> column;
  column.pack();
  for (int i = 0; i < kRows; ++i) column.push_back(i);
  column.seal();
  const Column<std::int64_t>& read = column;
  std::vector<std::thread> readers;
  std::vector<const std::int64_t*> flat(4);
  for (std::size_t t = 0; t < flat.size(); ++t) {
    readers.emplace_back([&read, &flat, t] {
      flat[t] = read.data();
      for (std::size_t i = 0; i < kRows; ++i) ASSERT_EQ(read[i], flat[t][i]);
    });
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::int64_t* const values : flat) EXPECT_EQ(values, flat[0]);
}

TEST(PackedColumn, ShowsInItsPlainFormWhatWasWrittenSince) {
  Column<std::int64_t> column;
  column.pack();
  for (int i = 0; i < 3000; ++i) column.push_back(i);
  EXPECT_EQ(column.data()[2999], 2999);
  column.set(2999, 5);
  column.push_back(6);
  EXPECT_EQ(column.data()[2999], 5);
  EXPECT_EQ(column.data()[3000], 6);
}

}  // namespace
}  // namespace sonde
