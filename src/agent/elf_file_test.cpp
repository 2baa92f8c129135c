// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/elf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

TEST(ReadElf, TellsWhatAProgramNeeds) {
  const auto facts = read_elf("/proc/self/exe");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(facts->is_64_bit);
  EXPECT_TRUE(facts->is_dynamic);
  EXPECT_EQ(facts->machine, own_machine());
  EXPECT_THAT(facts->interpreter, ::testing::HasSubstr("/ld-"));
  EXPECT_THAT(facts->needed, ::testing::Contains("libc.so.6"));
}

TEST(ReadElf, SurvivesCutAndDamagedFiles) {
  const testing::TempDir dir;
  const std::string whole = read_file("/proc/self/exe").value_or("").substr(0, 8192);
  for (std::size_t length = 0; length < whole.size(); length += 61) {
    std::string cut = whole.substr(0, length);
    ASSERT_TRUE(write_file_whole(dir.file("cut"), cut));
    static_cast<void>(read_elf(dir.file("cut")));
    if (length < 1000) continue;
    for (std::size_t i = 32 + length % 7; i < 1000; i += 11) cut[i] = static_cast<char>(0xff);
    ASSERT_TRUE(write_file_whole(dir.file("cut"), cut));
    static_cast<void>(read_elf(dir.file("cut")));
  }
  ASSERT_TRUE(write_file_whole(dir.file("text"), "#!/bin/sh\n"));
  EXPECT_EQ(read_elf(dir.file("text")).error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace sonde
