// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

class OutputFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.file(name); }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(dir_.path()), {});
  }

  const testing::TempDir dir_;
};

TEST_F(OutputFileTest, IsNotSeenBeforeItIsWhole) {
  Result<OutputFile> file = OutputFile::create(path("t.json"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append(std::string_view("half")));
  EXPECT_EQ(files(), 0);  // so that a kill leaves nothing
  ASSERT_TRUE(file->append(std::string_view(" and half")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(*read_file(path("t.json")), "half and half");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, ReplacesAFileWhole) {
  ASSERT_TRUE(write_file_whole(path("a"), "one"));
  ASSERT_TRUE(write_file_whole(path("a"), "two"));
  EXPECT_EQ(*read_file(path("a")), "two");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, NamesThePathAndTheReason) {
  const Result<void> written = write_file_whole(path("no/such/folder"), "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message,
            path("no/such/folder") + ": cannot create: No such file or directory");
}

TEST_F(OutputFileTest, WritesBehindASymbolicLink) {
  std::filesystem::create_directory(path("far"));
  std::filesystem::create_symlink(path("far/out"), path("link"));
  std::filesystem::create_symlink("link", path("link to it"));
  for (const char* text : {"new", "in its place"}) {
    ASSERT_TRUE(write_file_whole(path("link to it"), text));
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_TRUE(std::filesystem::is_symlink(path("link to it")));
    EXPECT_EQ(*read_file(path("far/out")), text);
  }
}

TEST_F(OutputFileTest, WritesIntoAPipe) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_file_whole(path("pipe"), "through"));
  char text[16] = "";
  EXPECT_EQ(::read(reader, text, sizeof(text)), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

// As /dev/stdout does. Its file has a name that others wait for.
TEST_F(OutputFileTest, AppendsToWhatAProcessHasOpen) {
  const int fd = ::open(path("log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, "before ", 7), 7);
  const std::string open_file = "/proc/self/fd/" + std::to_string(fd);
  std::filesystem::create_symlink(open_file, path("stdout"));
  ASSERT_TRUE(write_file_whole(path("stdout"), "and "));
  ASSERT_TRUE(write_file_whole(open_file, "after"));
  EXPECT_EQ(std::filesystem::read_symlink(path("stdout")), open_file);
  struct stat held{};
  struct stat named{};
  ASSERT_EQ(::fstat(fd, &held), 0);
  ASSERT_EQ(::stat(path("log").c_str(), &named), 0);
  ::close(fd);
  EXPECT_EQ(held.st_ino, named.st_ino);
  EXPECT_EQ(*read_file(path("log")), "before and after");
}

}  // namespace
}  // namespace sonde
