// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/memory_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace sonde {
namespace {

MemoryEvent made(std::uint32_t number) {
  return {.time_ns = number == 0 ? kBeforeRecording : Nanos{number} * 1'000'000'007,
          .block = number * 7,
          .action = static_cast<MemoryAction>(number % 4 + 1),
          .from = static_cast<MemoryCategory>(number / 4 % kMemoryCategories),
          .to = static_cast<MemoryCategory>(number / 32 % kMemoryCategories)};
}

bool are_same(const MemoryEvent& a, const MemoryEvent& b) {
  return a.time_ns == b.time_ns && a.block == b.block && a.action == b.action && a.from == b.from &&
         a.to == b.to;
}

TEST(MemoryEvents, AreWhatWasPutIn) {
  MemoryEvents events;
  for (std::uint32_t i = 0; i < 3000; ++i) events.push_back(made(i));
  ASSERT_EQ(events.size(), 3000U);
  std::uint32_t number = 0;
  for (const MemoryEvent& event : events) EXPECT_TRUE(are_same(event, made(number++)));
  EXPECT_TRUE(are_same(events.back(), made(2999)));
}

TEST(MemoryEvents, AreReadManyAtOnce) {
  MemoryEvents events;
  for (std::uint32_t i = 0; i < 3000; ++i) events.push_back(made(i));
  std::array<MemoryEvent, MemoryEvents::kAtOnce> read{};
  EXPECT_EQ(events.read(2990, read.data()), 10U);
  ASSERT_EQ(events.read(1000, read.data()), MemoryEvents::kAtOnce);
  for (std::uint32_t i = 0; i < read.size(); ++i) EXPECT_TRUE(are_same(read[i], made(1000 + i)));
}

TEST(MemoryEvents, AreSearchedByTime) {
  MemoryEvents events;
  for (std::uint32_t i = 0; i < 3000; ++i) events.push_back(made(i));
  const auto after = std::upper_bound(
      events.begin(), events.end(), made(2000).time_ns,
      [](Nanos time_ns, const MemoryEvent& event) { return time_ns < event.time_ns; });
  EXPECT_EQ(after - events.begin(), 2001);
}

TEST(MemoryBlocks, AreWhatWasPutInAndSet) {
  MemoryBlocks blocks;
  blocks.reserve(3000);
  for (std::uint32_t i = 0; i < 3000; ++i)
    blocks.push_back({0x7f0000000000U + i * 64U, i * 512, AllocationId(i * 2), {}, SpanId(i), {}});
  EXPECT_FALSE(blocks.death(17).valid());
  blocks.set_death(2999, AllocationId(6001));
  blocks.set_death(17, AllocationId(6000));
  blocks.set_bytes(17, 5);
  Column<SpanId> ops;
  for (std::uint32_t i = 0; i < 3000; ++i) ops.push_back(SpanId(i / 2));
  blocks.set_ops(std::move(ops));
  const MemoryBlock block = blocks[17];
  EXPECT_EQ(block.address, 0x7f0000000000 + 17 * 64U);
  EXPECT_EQ(block.bytes, 5);
  EXPECT_EQ(block.birth, AllocationId(34));
  EXPECT_EQ(block.death, AllocationId(6000));
  EXPECT_EQ(block.span, SpanId(17));
  EXPECT_EQ(block.op, SpanId(8));
  EXPECT_EQ(blocks.death(2999), AllocationId(6001));
  EXPECT_FALSE(blocks.death(2998).valid());
}

}  // namespace
}  // namespace sonde
