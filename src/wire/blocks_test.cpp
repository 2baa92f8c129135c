// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wire/blocks.h"

#include <gtest/gtest.h>

#include <limits>

namespace sonde {
namespace {

template <typename Block>
Block read_back(const Block& block) {
  ByteWriter out;
  block.write(out);
  ByteReader in(out.bytes());
  Block back = Block::read(in);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
  // Bytes that were cut anywhere do not read as complete.
  for (std::size_t size = 0; size < out.size(); ++size) {
    ByteReader cut(out.bytes().first(size));
    (void)Block::read(cut);
    EXPECT_FALSE(cut.ok()) << size;
  }
  return back;
}

TEST(Blocks, GiveBackAProcess) {
  ProcessBlock block;
  block.pid = std::numeric_limits<std::int64_t>::max();
  block.parent_pid = -1;
  block.rank = 3;
  block.world_size = 8;
  block.local_rank = 1;
  block.stream = ~std::uint64_t{0};
  block.host = "host";
  block.name = std::string("any\0bytes\xff", 10);
  block.live_name = "run.live";
  block.live_path = std::string(300, 'p');
  const ProcessBlock back = read_back(block);
  EXPECT_EQ(back.pid, block.pid);
  EXPECT_EQ(back.parent_pid, -1);
  EXPECT_EQ(back.rank, 3);
  EXPECT_EQ(back.world_size, 8);
  EXPECT_EQ(back.local_rank, 1);
  EXPECT_EQ(back.stream, block.stream);
  EXPECT_EQ(back.host, block.host);
  EXPECT_EQ(back.name, block.name);
  EXPECT_EQ(back.live_name, block.live_name);
  EXPECT_EQ(back.live_path, block.live_path);
}

TEST(Blocks, GiveBackAnAnchor) {
  const AnchorBlock back = read_back(AnchorBlock{{~std::uint64_t{0}, -5, 7, 9}});
  EXPECT_EQ(back.anchor.ticks, ~std::uint64_t{0});
  EXPECT_EQ(back.anchor.monotonic_ns, -5);
  EXPECT_EQ(back.anchor.realtime_ns, 7);
  EXPECT_EQ(back.anchor.spread_ticks, 9u);
}

TEST(Blocks, GiveBackAWindow) {
  const WindowBlock back = read_back(WindowBlock{4, 1, 1'000, -3});
  EXPECT_EQ(back.index, 4u);
  EXPECT_EQ(back.is_end, 1u);
  EXPECT_EQ(back.ticks, 1'000u);
  EXPECT_EQ(back.first_step, -3);
}

TEST(Blocks, GiveBackMetadata) {
  const MetadataBlock back = read_back(MetadataBlock{"key", R"({"a": 1})"});
  EXPECT_EQ(back.key, "key");
  EXPECT_EQ(back.json, R"({"a": 1})");
}

TEST(Blocks, GiveBackALedgerRow) {
  const LedgerBlock back = read_back(LedgerBlock{200, ~std::uint64_t{0}, "collect", ""});
  EXPECT_EQ(back.kind, 200);
  EXPECT_EQ(back.count, ~std::uint64_t{0});
  EXPECT_EQ(back.source, "collect");
  EXPECT_EQ(back.detail, "");
}

TEST(Blocks, StandOneAfterTheOther) {
  ByteWriter out;
  for (std::uint32_t i = 0; i < 3; ++i) WindowBlock{i, 0, i, 0}.write(out);
  ByteReader in(out.bytes());
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(WindowBlock::read(in).index, i);
  EXPECT_TRUE(in.ok() && in.at_end());
}

TEST(Blocks, DoNotTrustTheLengthOfAText) {
  ByteWriter out;
  out.varint(~std::uint64_t{0});
  out.raw("abc", 3);
  ByteReader in(out.bytes());
  const MetadataBlock block = MetadataBlock::read(in);
  EXPECT_FALSE(in.ok());
  EXPECT_TRUE(block.key.empty());
}

}  // namespace
}  // namespace sonde
