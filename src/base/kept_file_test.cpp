// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/kept_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace sonde {
namespace {

class KeptFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "sonde-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  int open(const std::string& name) const {
    return ::open(path(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  std::uintmax_t size(const std::string& name) const {
    return std::filesystem::file_size(path(name));
  }

  std::string folder_;
};

TEST_F(KeptFileTest, IsOpenedAgainAndTheOthersLeftAlone) {
  const int fd = open("ours");
  KeptFile kept(fd, path("ours"));
  EXPECT_EQ(kept.descriptor(), fd);
  ::close(fd);
  ASSERT_EQ(open("theirs"), fd) << "the number is theirs now";
  const int again = kept.descriptor();
  ASSERT_GE(again, 0);
  EXPECT_NE(again, fd);
  EXPECT_EQ(::write(again, "x", 1), 1);
  EXPECT_EQ(size("ours"), 1u);
  EXPECT_EQ(size("theirs"), 0u);
  kept.close();
  EXPECT_EQ(::fcntl(again, F_GETFD), -1);
  EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  ::close(fd);
}

TEST_F(KeptFileTest, DoesNotCloseWhatIsNotItsOwn) {
  const int fd = open("ours");
  {
    const KeptFile kept(fd, path("ours"));
    ::close(fd);
    ASSERT_EQ(open("theirs"), fd);
  }
  EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  ::close(fd);
}

TEST_F(KeptFileTest, IsFoundFromAnotherFolderUnderItsNewName) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const int fd = open("first");
  KeptFile kept(fd, "first");
  std::filesystem::rename(path("first"), path("second"));
  kept.set_path("second");
  std::filesystem::current_path(before);
  ::close(fd);
  EXPECT_GE(kept.descriptor(), 0);
}

TEST_F(KeptFileTest, IsGoneIfItHasNoNameOrAnotherFileHasIt) {
  const int fd = open("ours");
  KeptFile kept(fd, path("ours"));
  ASSERT_EQ(::rename(path("ours").c_str(), path("elsewhere").c_str()), 0);
  ::close(open("ours"));
  EXPECT_EQ(kept.descriptor(), fd) << "as long as it is open";
  ::close(fd);
  EXPECT_EQ(kept.descriptor(), -1);
  EXPECT_EQ(errno, ESTALE);

  const int unnamed = open("unnamed");
  KeptFile second(unnamed, "");
  ::close(unnamed);
  EXPECT_EQ(second.descriptor(), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(KeptFileTest, KeepsItsLock) {
  const int fd = open("ours");
  KeptFile kept(fd, path("ours"));
  kept.lock();
  ::close(fd);
  ASSERT_GE(kept.descriptor(), 0);
  const int other = open("ours");
  EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), -1);
  kept.close();
  EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  ::close(other);
}

}  // namespace
}  // namespace sonde
