// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace sonde {
namespace {

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("sonde-file-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(FileTest, ReplacesAFileWhole) {
  ASSERT_TRUE(write_file_whole(path("a"), std::string_view("one")));
  ASSERT_TRUE(write_file_whole(path("a"), std::string_view("two")));
  EXPECT_EQ(*read_file(path("a")), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, NamesThePathAndTheReason) {
  const auto missing = MappedFile::open(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().message.find("none: cannot open: No such file"), std::string::npos);

  const auto folder = MappedFile::open(folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("is a folder"), std::string::npos);

  const Result<void> written = write_file_whole(path("no/such/folder"), std::string_view("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message.find(path("no/such/folder") + ": "), 0u)
      << written.error().message;
}

TEST_F(FileTest, MapsAnEmptyFileAsNoBytes) {
  ASSERT_TRUE(write_file_whole(path("empty"), std::string_view()));
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

TEST_F(FileTest, AppendsToAnUnnamedFileThatThisProcessCanRead) {
  auto file = AppendFile::create("");
  ASSERT_TRUE(file);
  const std::uint8_t bytes[] = {'h', 'i'};
  ASSERT_TRUE(file->append(bytes));
  ASSERT_TRUE(file->append(bytes));
  EXPECT_EQ(file->size(), 4u);
  EXPECT_EQ(*read_file(file->readable_path()), "hihi");
}

}  // namespace
}  // namespace sonde
