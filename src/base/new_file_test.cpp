// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/new_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/output_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

class NewFile : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return dir_.file(name); }
  static mode_t mode_of(const std::string& path) {
    struct stat facts = {};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0);
    return facts.st_mode & 0777;
  }

  const testing::TempDir dir_;
};

TEST_F(NewFile, TakesNoNameThatIsTaken) {
  ASSERT_TRUE(write_file_whole(path("victim"), "precious"));
  std::filesystem::create_symlink(path("victim"), path("link"));
  std::filesystem::create_symlink(path("nowhere"), path("dangling"));
  for (const char* const name : {"victim", "link", "dangling"}) {
    EXPECT_LT(create_new(path(name)), 0) << name;
    EXPECT_EQ(errno, EEXIST) << name;
    EXPECT_FALSE(AppendFile::create(path(name))) << name;
  }
  EXPECT_EQ(*read_file(path("victim")), "precious");
  EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
}

TEST_F(NewFile, IsForItsUserAloneUntilItIsFinished) {
  const mode_t before = ::umask(022);
  auto file = AppendFile::create(path("begun"));
  ASSERT_TRUE(file);
  EXPECT_EQ(mode_of(path("begun")), 0600u);
  ASSERT_TRUE(file->publish(path("finished")));
  EXPECT_EQ(mode_of(path("finished")), 0644u);
  ::umask(037);
  ASSERT_TRUE(write_file_whole(path("output"), "x"));
  ::umask(before);
  EXPECT_EQ(mode_of(path("output")), 0640u);
}

TEST_F(NewFile, TemporaryOneIsPrivateAndGoes) {
  std::string name;
  {
    const auto file = TemporaryFile::create("sonde-test", "text");
    ASSERT_TRUE(file);
    name = file->path();
    EXPECT_EQ(mode_of(name), 0600u);
    EXPECT_EQ(*read_file(name), "text");
  }
  EXPECT_FALSE(std::filesystem::exists(name));
}

// What TMPDIR was before is back afterwards.
class OtherTmpdir {
 public:
  explicit OtherTmpdir(const std::string& folder) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  ~OtherTmpdir() {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

TEST_F(NewFile, TemporaryOneIsMadeElsewhereIfItsFolderWillNotDo) {
  ASSERT_TRUE(write_file_whole(path("a file"), "x"));
  for (const char* const folder : {"nowhere", "a file", "/proc", "/dev/full"}) {
    const OtherTmpdir other(*folder == '/' ? folder : path(folder));
    const auto file = TemporaryFile::create("sonde-test", "text");
    ASSERT_TRUE(file) << folder << ": " << file.error().message;
    EXPECT_EQ(*read_file(file->path()), "text") << folder;
  }
}

TEST_F(NewFile, TemporaryOneIsNamedFromTheRoot) {
  const OtherTmpdir other(".");
  const auto file = TemporaryFile::create_to_share("sonde-test", 4096, path(""));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path().front(), '/') << file->path();
  EXPECT_EQ(std::filesystem::file_size(file->path()), 0u) << "what is kept is not its content";
}

TEST_F(NewFile, NamesHaveNoPatternThatOthersCouldKnow) {
  const std::string a = random_digits();
  const std::string b = random_digits();
  ASSERT_EQ(a.size(), 16u);
  int same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  EXPECT_LT(same, 10) << a << " " << b;
}

// In a folder where everyone may write, such as /tmp.
TEST_F(NewFile, LinkOfAnotherUserInASharedFolderIsNotFollowed) {
  const std::string shared = path("shared");
  std::filesystem::create_directory(shared);
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  ASSERT_TRUE(write_file_whole(path("victim"), "precious"));
  std::filesystem::create_symlink(path("victim"), shared + "/out");
  ASSERT_TRUE(write_file_whole(shared + "/out", "own link")) << "one's own link is followed";
  EXPECT_EQ(*read_file(path("victim")), "own link");
  if (::lchown((shared + "/out").c_str(), 65534, 65534) != 0)
    GTEST_SKIP() << "no permission to give a link to another user";
  EXPECT_FALSE(temporary_beside(shared + "/out"));
  EXPECT_FALSE(write_file_whole(shared + "/out", "overwritten"));
  EXPECT_EQ(*read_file(path("victim")), "own link");
}

// SIGXFSZ would kill the process here.
TEST_F(NewFile, WriteBeyondTheLimitFailsAndSendsNoSignal) {
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const int fd = create_new(path("limited"));
  ASSERT_GE(fd, 0);
  const rlimit small = {4, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_EQ(file_size_limit(), 4u);
  EXPECT_EQ(room_beside(path("limited")), 4u);
  EXPECT_EQ(write_some_at(fd, "12345678", 8, 4), -1);
  const int error = errno;
  EXPECT_LT(reserve_blocks(fd, 100), 0);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(error, EFBIG);
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&pending, SIGXFSZ), 0);
  ::close(fd);
}

}  // namespace
}  // namespace sonde
