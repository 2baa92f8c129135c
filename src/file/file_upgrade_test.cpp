// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/file_upgrade.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::TempDir;
using Bytes = std::vector<std::uint8_t>;

Result<Bytes> add_a(BlockKind kind, Bytes payload) {
  if (kind == BlockKind::Metadata) payload.push_back('a');
  return payload;
}
Result<Bytes> add_b(BlockKind, Bytes payload) {
  payload.push_back('b');
  return payload;
}
Result<Bytes> refuse(BlockKind, Bytes) {
  return Failure(ErrorCode::Corrupt, "no");
}

// The payload "x" of a file that this Sonde writes, after `steps`, of which the first are for older
// files.
std::string upgraded(BlockKind kind, std::span<const UpgradeStep> steps) {
  const TempDir dir;
  Result<BlockWriter> writer = BlockWriter::create(dir.file("a"));
  EXPECT_TRUE(writer);
  EXPECT_TRUE(writer->append(kind, Bytes{'x'}, false));
  const Result<BlockFile> file = BlockFile::open(dir.file("a"));
  EXPECT_TRUE(file);
  Bytes scratch;
  const auto payload = upgraded_payload(*file, file->blocks()[0], scratch, steps);
  return payload ? std::string(payload->begin(), payload->end()) : payload.error().message;
}

TEST(FileUpgrade, LeavesTheCurrentVersionAlone) {
  EXPECT_EQ(upgraded(BlockKind::Metadata, {}), "x");
  EXPECT_EQ(upgrade_steps().size() + 1, kFormatVersion);
}

TEST(FileUpgrade, TakesEveryStepInOrder) {
  const std::array<UpgradeStep, 3> steps = {refuse, add_a, add_b};
  EXPECT_EQ(upgraded(BlockKind::Metadata, steps), "xab");
  EXPECT_EQ(upgraded(BlockKind::Events, steps), "xb");
}

TEST(FileUpgrade, PassesOnWhyAStepFailed) {
  const std::array<UpgradeStep, 3> steps = {add_a, refuse, add_b};
  EXPECT_EQ(upgraded(BlockKind::Metadata, steps), "no");
}

}  // namespace
}  // namespace sonde
