// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"
#include "base/file_stamp.h"
#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sonde {
namespace {

class FileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.file(name); }

  const testing::TempDir dir_;
};

TEST_F(FileTest, NamesThePathAndTheReason) {
  const auto missing = MappedFile::open(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().message.find("none: cannot open: No such file"), std::string::npos);

  const auto folder = MappedFile::open(dir_.path());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("is a folder"), std::string::npos);
}

TEST_F(FileTest, MapsAnEmptyFileAsNoBytes) {
  ASSERT_TRUE(AppendFile::create(path("empty")));
  const auto file = MappedFile::open(path("empty"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(FileTest, PublishesInPlaceOfAFinishedFileButNotOfOneInUse) {
  const std::uint8_t bytes[] = {'h', 'i'};
  {
    auto first = AppendFile::create(path("tmp1"));
    ASSERT_TRUE(first && first->append(bytes) && first->publish(path("out")));
    auto second = AppendFile::create(path("tmp2"));
    ASSERT_TRUE(second);
    const auto refused = second->publish(path("out"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("out: is being recorded to"), std::string::npos);
  }
  auto third = AppendFile::create(path("tmp3"));
  ASSERT_TRUE(third && third->publish(path("out")));
  EXPECT_EQ(*read_file(path("out")), "");
  EXPECT_FALSE(std::filesystem::exists(path("tmp3")));
}

// A process that has the pipe open would never see a byte.
TEST_F(FileTest, PublishesInPlaceOfFilesOnly) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Result<std::string> temporary = temporary_beside(path("pipe"));
  ASSERT_FALSE(temporary);
  EXPECT_EQ(
      temporary.error().message,
      path("pipe") + ": is not a regular file, so it cannot be replaced; choose another name");
  auto file = AppendFile::create(path("tmp"));
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->publish(path("pipe")));
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

TEST_F(FileTest, PublishesBehindASymbolicLink) {
  std::filesystem::create_directory(path("far"));
  std::filesystem::create_symlink("far/out", path("link"));
  for (int i = 0; i < 2; ++i) {  // first as a new file, then in place of it
    const Result<std::string> temporary = temporary_beside(path("link"));
    ASSERT_TRUE(temporary);
    EXPECT_EQ(std::filesystem::path(*temporary).parent_path(), path("far"));
    auto file = AppendFile::create(*temporary);
    const std::uint8_t byte[] = {static_cast<std::uint8_t>('0' + i)};
    ASSERT_TRUE(file && file->append(byte) && file->publish(path("link")));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("far/out")), "1");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("far")), {}), 1);
}

TEST_F(FileTest, NoTwoTemporaryNamesAreEqual) {
  EXPECT_NE(*temporary_beside(path("a")), *temporary_beside(path("a")));
}

TEST_F(FileTest, WritesReplacingOrLeavesWhatWas) {
  const auto write = [](const char* text, bool fails) {
    return [=](const std::string& at) -> Result<void> {
      std::ofstream(at) << text;
      if (fails) return Failure(ErrorCode::Io, at + ": cannot write: disk full");
      return {};
    };
  };
  ASSERT_TRUE(write_replacing(path("a"), write("whole", false)));
  const Result<void> failed = write_replacing(path("a"), write("half", true));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, path("a") + ": cannot write: disk full");
  EXPECT_EQ(*read_file(path("a")), "whole");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path()), {}), 1);
}

TEST_F(FileTest, AppendsToAnUnnamedFileThatThisProcessCanRead) {
  auto file = AppendFile::create("");
  ASSERT_TRUE(file);
  const std::uint8_t bytes[] = {'h', 'i'};
  ASSERT_TRUE(file->append(bytes));
  ASSERT_TRUE(file->append(bytes));
  EXPECT_EQ(file->size(), 4u);
  EXPECT_EQ(*read_file(file->readable_path()), "hihi");
}

TEST(FileStamp, TellsAFileThatWasWrittenToFromOneThatWasReplaced) {
  const testing::TempDir dir;
  const std::string path = dir.file("a");
  ASSERT_TRUE(write_file_whole(path, "one"));
  const FileStamp before(path);
  EXPECT_FALSE(before.was_written());
  ASSERT_TRUE(write_file_whole(path, "another"));  // by a new file
  EXPECT_FALSE(before.was_written());
  const FileStamp later(path);
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_TRUE(later.was_written());
  EXPECT_FALSE(FileStamp(dir.file("none")).was_written());
}

}  // namespace
}  // namespace sonde
