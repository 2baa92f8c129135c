// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/block_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "file/block_layout.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

Bytes read_bytes(const std::string& path) {
  const Result<std::string> text = read_file(path);
  EXPECT_TRUE(text);
  return bytes_of(*text);
}

// A file with three blocks: short, compressible, unknown kind.
Bytes sample(bool seal = true) {
  const TempDir dir;
  Result<BlockWriter> writer = BlockWriter::create(dir.file("a.sonde"));
  EXPECT_TRUE(writer);
  EXPECT_TRUE(writer->append(BlockKind::Metadata, bytes_of("hello"), false));
  EXPECT_TRUE(writer->append(BlockKind::Events, Bytes(5'000, 7), true));
  EXPECT_TRUE(writer->append(static_cast<BlockKind>(999), bytes_of("later"), false));
  if (seal) {
    EXPECT_TRUE(writer->seal());
  }
  return read_bytes(dir.file("a.sonde"));
}

std::string text_of(const BlockFile& file, std::size_t block) {
  Bytes scratch;
  const auto payload = file.payload(file.blocks()[block], scratch);
  return payload ? std::string(payload->begin(), payload->end()) : payload.error().message;
}

void fix_header_crc(Bytes& bytes) {
  auto header = load<FileHeader>(bytes, 0);
  header.crc = crc_of(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
}

TEST(BlockFile, GivesBackWhatWasWritten) {
  const Bytes bytes = sample();
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->sealed());
  EXPECT_EQ(file->version(), kFormatVersion);
  ASSERT_EQ(file->blocks().size(), 3u);
  EXPECT_EQ(file->blocks()[0].kind, BlockKind::Metadata);
  EXPECT_EQ(text_of(*file, 0), "hello");
  EXPECT_TRUE(file->blocks()[1].compressed);
  EXPECT_EQ(text_of(*file, 1), std::string(5'000, 7));
  EXPECT_TRUE(file->damage().empty());
}

TEST(BlockFile, KeepsBlocksOfUnknownKind) {
  const Bytes bytes = sample();
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(static_cast<int>(file->blocks()[2].kind), 999);
  EXPECT_EQ(text_of(*file, 2), "later");
}

TEST(BlockFile, ScansAFileWithoutItsEnd) {
  const Bytes bytes = sample(false);
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->sealed());
  EXPECT_TRUE(file->damage().empty());
  ASSERT_EQ(file->blocks().size(), 3u);
  EXPECT_EQ(text_of(*file, 2), "later");
}

TEST(BlockFile, StoresPlainWhatZstdDoesNotShrink) {
  const TempDir dir;
  Result<BlockWriter> writer = BlockWriter::create(dir.file("a"));
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->append(BlockKind::Events, bytes_of("x"), true));
  ASSERT_TRUE(writer->append(BlockKind::Events, {}, true));
  const Result<BlockFile> file = BlockFile::open(dir.file("a"));
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->blocks()[0].compressed);
  EXPECT_EQ(text_of(*file, 1), "");
}

TEST(BlockFile, IndexesMoreBlocksThanOneIndexBlockLists) {
  const TempDir dir;
  Result<BlockWriter> writer = BlockWriter::create(dir.file("a"));
  ASSERT_TRUE(writer);
  const std::size_t count = kMaxBlockBytes / sizeof(IndexEntry) + 10;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(writer->append(BlockKind::Events, {}, false));
  }
  ASSERT_TRUE(writer->seal());
  const Result<BlockFile> file = BlockFile::open(dir.file("a"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->sealed());
  EXPECT_EQ(file->blocks().size(), count);
}

TEST(BlockWriter, RefusesBlocksThatAreTooLong) {
  const TempDir dir;
  Result<BlockWriter> writer = BlockWriter::create(dir.file("a"));
  ASSERT_TRUE(writer);
  EXPECT_TRUE(writer->append(BlockKind::Events, Bytes(kMaxBlockBytes), true));
  EXPECT_FALSE(writer->append(BlockKind::Events, Bytes(kMaxBlockBytes + 1), true));
  EXPECT_TRUE(writer->seal());
  EXPECT_FALSE(writer->append(BlockKind::Events, {}, false));
  EXPECT_EQ(BlockFile::open(dir.file("a"))->blocks().size(), 1u);
}

TEST(BlockFile, SurvivesTruncationAtEveryByte) {
  const Bytes bytes = sample();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const Result<BlockFile> file = BlockFile::parse(cut, "cut.sonde");
    if (length < kFileHeaderBytes) {
      ASSERT_FALSE(file) << length;
      EXPECT_THAT(file.error().message, HasSubstr("cut.sonde: "));
      continue;
    }
    ASSERT_TRUE(file) << length << file.error().message;
    EXPECT_FALSE(file->sealed()) << length;
    for (std::size_t i = 0; i < file->blocks().size(); ++i) {
      Bytes scratch;
      EXPECT_TRUE(file->payload(file->blocks()[i], scratch)) << length;
    }
  }
}

// A file with one block, to which blocks are added.
struct GrowingFile {
  GrowingFile() : path(dir.file("a.sonde")), writer(*BlockWriter::create(path)) {
    EXPECT_TRUE(writer.append(BlockKind::Events, first, true));
  }
  void add(BlockKind kind) const { EXPECT_TRUE(add_block(path, encode_block(kind, more, false))); }
  // The contents of a block, once the file has so many.
  Bytes block(std::size_t number, std::size_t count) const {
    const Result<BlockFile> file = BlockFile::open(path);
    EXPECT_TRUE(file && file->damage().empty());
    if (!file || file->blocks().size() != count) return {};
    Bytes scratch;
    const auto payload = file->payload(file->blocks()[number], scratch);
    return payload ? Bytes(payload->begin(), payload->end()) : Bytes();
  }

  TempDir dir;
  const Bytes first = Bytes(100, 1);
  const Bytes more = {7, 8};
  const std::string path;
  BlockWriter writer;
};

TEST(BlockFile, TakesABlockMoreAfterItWasSealed) {
  GrowingFile growing;
  ASSERT_TRUE(growing.writer.seal());
  growing.add(BlockKind::Metadata);
  growing.add(BlockKind::Ledger);
  const auto file = BlockFile::open(growing.path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->sealed());
  ASSERT_EQ(file->blocks().size(), 3U);
  EXPECT_EQ(file->blocks()[2].kind, BlockKind::Ledger);
  EXPECT_EQ(growing.block(0, 3), growing.first);
}

// Whatever a killed process left of its last block.
TEST(BlockFile, TakesABlockMoreAfterItsWriterWasKilled) {
  GrowingFile growing;
  const std::uint64_t whole = growing.writer.size();
  ASSERT_TRUE(growing.writer.append(BlockKind::Events, growing.first, false));
  for (const std::uint64_t length : {whole + 60, whole + 8, whole}) {
    std::filesystem::resize_file(growing.path, length);
    growing.add(BlockKind::Metadata);
    EXPECT_EQ(growing.block(1, 2), growing.more);
  }
}

TEST(BlockFile, SaysWhereATruncatedBlockBegins) {
  const Bytes bytes = sample();
  const Bytes cut(bytes.begin(), bytes.begin() + 100);
  const Result<BlockFile> file = BlockFile::parse(cut, "a");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->blocks().size(), 0u);
  ASSERT_EQ(file->damage().size(), 1u);
  EXPECT_EQ(file->damage()[0].offset, 64u);
  EXPECT_EQ(file->damage()[0].bytes, 36u);
  EXPECT_EQ(file->damage()[0].what, "the block at byte 64 ends early");
}

TEST(BlockFile, NoticesEveryFlippedBitButThoseOfPadding) {
  const Bytes good = sample();
  const Result<BlockFile> whole = BlockFile::parse(good, "a");
  ASSERT_TRUE(whole);
  std::size_t unnoticed = 0;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    const Result<BlockFile> file = BlockFile::parse(bytes, "a");
    if (!file) continue;
    bool noticed = !file->sealed() || !file->damage().empty();
    for (const BlockFile::Block& block : file->blocks()) {
      Bytes scratch;
      if (!file->payload(block, scratch)) noticed = true;
    }
    if (!noticed) ++unnoticed;
  }
  std::size_t padding = 0;
  for (const BlockFile::Block& block : whole->blocks()) {
    padding += padded(block.stored_bytes) - block.stored_bytes;
  }
  EXPECT_LE(unnoticed, 8 * (padding + 7));  // the index may be padded too
}

TEST(BlockFile, FindsTheBlocksBehindDamage) {
  Bytes bytes = sample(false);
  bytes[kFileHeaderBytes + 9] ^= 0xff;  // the first block's length
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->blocks().size(), 2u);
  EXPECT_EQ(text_of(*file, 1), "later");
  ASSERT_EQ(file->damage().size(), 1u);
  EXPECT_EQ(file->damage()[0].bytes, 40u);
}

TEST(BlockFile, FindsBlocksAfterBytesWereLostOrAdded) {
  const Bytes good = sample(false);
  Bytes longer = good;
  longer.insert(longer.begin() + 64, {1, 2, 3});
  Bytes shorter = good;
  shorter.erase(shorter.begin() + 66);
  EXPECT_EQ(BlockFile::parse(longer, "a")->blocks().size(), 3u);
  EXPECT_EQ(BlockFile::parse(shorter, "a")->blocks().size(), 2u);
}

TEST(BlockFile, DoesNotTakeBlocksOfAnotherFile) {
  Bytes bytes = sample(false);
  const Bytes other = sample(false);
  bytes.insert(bytes.end(), other.begin() + 64, other.end());
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->blocks().size(), 3u);
  EXPECT_FALSE(file->damage().empty());
}

TEST(BlockFile, RefusesAbsurdLengthsWithoutAllocating) {
  Bytes bytes = sample(false);
  auto header = load<BlockHeader>(bytes, kFileHeaderBytes);
  header.payload_bytes = 0xffffffff;
  header.stored_bytes = 0xfffffff0;
  header.crc = crc_of(header);
  std::memcpy(bytes.data() + kFileHeaderBytes, &header, sizeof(header));
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->blocks().size(), 2u);
}

TEST(BlockFile, RefusesAPayloadThatDecompressesToAnotherLength) {
  Bytes bytes = sample(false);
  auto header = load<BlockHeader>(bytes, kFileHeaderBytes + 40);
  ASSERT_EQ(header.kind, static_cast<int>(BlockKind::Events));
  header.payload_bytes += 1;
  header.crc = crc_of(header);
  std::memcpy(bytes.data() + kFileHeaderBytes + 40, &header, sizeof(header));
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(text_of(*file, 1), "a: the block at byte 104 does not decompress");
}

TEST(BlockFile, RefusesNewerVersions) {
  Bytes bytes = sample();
  bytes[8] = 9;
  fix_header_crc(bytes);
  const Result<BlockFile> file = BlockFile::parse(bytes, "X.sonde");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::TooNew);
  EXPECT_EQ(
      file.error().message,
      "X.sonde: written in format version 9; this Sonde reads versions up to 2: use a newer Sonde");
}

TEST(BlockFile, ReadsOnBehindADamagedFileHeader) {
  Bytes bytes = sample();
  bytes[25] ^= 1;  // the file's id
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->blocks().size(), 3u);
  ASSERT_EQ(file->damage().size(), 1u);
  EXPECT_THAT(file->damage()[0].what, HasSubstr("header"));
}

TEST(BlockFile, SaysWhatIsNoSondeFile) {
  const auto message = [](const Bytes& bytes) {
    return BlockFile::parse(bytes, "a").error().message;
  };
  EXPECT_EQ(message({}), "a: is empty");
  EXPECT_EQ(message(bytes_of("<!DOCTYPE html><html>")),
            "a: not a Sonde file; it begins with \"<!DOCTYPE html><\"");
  EXPECT_THAT(message(Bytes(4096, 0)), HasSubstr("not a Sonde file"));
  EXPECT_EQ(message(Bytes(kFileMagic.begin(), kFileMagic.begin() + 3)),
            "a: ends after 3 bytes, within the file's header");
}

TEST(BlockFile, ReportsATailOfZeros) {
  Bytes bytes = sample(false);
  const std::size_t end = bytes.size();
  bytes.resize(end + 4096, 0);
  const Result<BlockFile> file = BlockFile::parse(bytes, "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->blocks().size(), 3u);
  ASSERT_EQ(file->damage().size(), 1u);
  EXPECT_EQ(file->damage()[0].offset, end);
  EXPECT_EQ(file->damage()[0].bytes, 4096u);
}

TEST(BlockFile, NamesFilesItCannotOpen) {
  const TempDir dir;
  EXPECT_THAT(BlockFile::open(dir.file("none")).error().message, HasSubstr(dir.file("none")));
  EXPECT_EQ(BlockFile::open(dir.file("none")).error().code, ErrorCode::NotFound);
  EXPECT_THAT(BlockFile::open(dir.path()).error().message, HasSubstr(dir.path()));
}

TEST(BlockFile, NamesAFileItMayNotRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TempDir dir;
  ASSERT_TRUE(write_file_whole(dir.file("a"), std::string_view("x")));
  std::filesystem::permissions(dir.file("a"), std::filesystem::perms::none);
  EXPECT_EQ(BlockFile::open(dir.file("a")).error().code, ErrorCode::Io);
}

}  // namespace
}  // namespace sonde
