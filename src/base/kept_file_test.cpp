// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/kept_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

class KeptFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.file(name); }
  int open(const std::string& name) const {
    return ::open(path(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  std::uintmax_t size(const std::string& name) const {
    return std::filesystem::file_size(path(name));
  }

  const testing::TempDir dir_;
};

// Acts like a program that closes all descriptors and opens its own file, which gets our number.
void replace(int fd, int other) {
  ASSERT_EQ(::dup2(other, fd), fd);
  ::close(other);
}

TEST_F(KeptFileTest, LeavesTheNumbersThatProgramsHave) {
  const int fd = open("ours");
  KeptFile kept(fd, path("ours"));
  EXPECT_GE(kept.descriptor(), 200);
  const int next = open("theirs");
  EXPECT_EQ(next, fd) << "as if we were not there";
  ::close(next);
}

TEST_F(KeptFileTest, LeavesTheNumbersThatProgramsHaveWhereThereAreFew) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const rlim_t few : {64U, 128U, 210U}) {
    const rlimit limit = {few, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    const int fd = open("ours");
    KeptFile kept(fd, path("ours"));
    EXPECT_GE(kept.descriptor(), static_cast<int>(few / 2));
    const int next = open("theirs");
    EXPECT_EQ(next, fd);
    ::close(next);
    ::setrlimit(RLIMIT_NOFILE, &before);
  }
}

TEST_F(KeptFileTest, IsOpenedAgainAndTheOthersLeftAlone) {
  KeptFile kept(open("ours"), path("ours"));
  const int fd = kept.descriptor();
  replace(fd, open("theirs"));
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
  int fd = -1;
  {
    KeptFile kept(open("ours"), path("ours"));
    fd = kept.descriptor();
    replace(fd, open("theirs"));
  }
  EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  ::close(fd);
}

TEST_F(KeptFileTest, IsFoundFromAnotherFolderUnderItsNewName) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  KeptFile kept(open("first"), "first");
  std::filesystem::rename(path("first"), path("second"));
  kept.set_path("second");
  std::filesystem::current_path(before);
  ::close(kept.descriptor());
  EXPECT_GE(kept.descriptor(), 0);
}

TEST_F(KeptFileTest, IsGoneIfItHasNoNameOrAnotherFileHasIt) {
  KeptFile kept(open("ours"), path("ours"));
  ASSERT_EQ(::rename(path("ours").c_str(), path("elsewhere").c_str()), 0);
  ::close(open("ours"));
  ASSERT_GE(kept.descriptor(), 0) << "as long as it is open";
  ::close(kept.descriptor());
  EXPECT_EQ(kept.descriptor(), -1);
  EXPECT_EQ(errno, ESTALE);

  KeptFile second(open("unnamed"), "");
  ::close(second.descriptor());
  EXPECT_EQ(second.descriptor(), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(KeptFileTest, KeepsItsLock) {
  KeptFile kept(open("ours"), path("ours"));
  kept.lock();
  ::close(kept.descriptor());
  ASSERT_GE(kept.descriptor(), 0);
  const int other = open("ours");
  EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), -1);
  kept.close();
  EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  ::close(other);
}

TEST_F(KeptFileTest, TakesAwayItsOwnNameOnly) {
  KeptFile kept(open("ours"), path("ours"));
  std::filesystem::rename(path("ours"), path("moved"));
  ::close(open("ours"));  // now another file
  kept.remove_name();
  EXPECT_TRUE(std::filesystem::exists(path("ours")));
  std::filesystem::rename(path("moved"), path("ours"));
  kept.remove_name();
  EXPECT_FALSE(std::filesystem::exists(path("ours")));
}

TEST_F(KeptFileTest, UnlocksWhenClosedThoughACopyIsOpen) {
  KeptFile kept(open("ours"), path("ours"));
  kept.lock();
  const int copy = ::dup(kept.descriptor());  // as a child of fork() has one
  const int other = open("ours");
  EXPECT_NE(::flock(other, LOCK_EX | LOCK_NB), 0);
  kept.close();
  EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  ::close(copy);
  ::close(other);
}

}  // namespace
}  // namespace sonde
