// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names that are taken: by another recording, by links, by other users' files.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "collect/testing/recorded.h"
#include "sonde/record.h"
#include "trace/testing/temp_dir.h"
#include "victim_process.h"

namespace sonde::testing {
namespace {

namespace fs = std::filesystem;

// If wanted, LD_PRELOAD names a flock() that does nothing.
class Variables {
 public:
  explicit Variables(bool locks) {
    for (char** variable = environ; *variable != nullptr; ++variable)
      texts_.emplace_back(*variable);
    if (!locks) texts_.emplace_back("LD_PRELOAD=" SONDE_NO_FLOCK);
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

class SecondOfAName : public ::testing::TestWithParam<bool> {};

TEST_P(SecondOfAName, LeavesTheFirstAlone) {
  const TempDir dir;
  Variables variables(GetParam());
  const Victim first(dir, "spill", "wait", variables.get());
  first.wait_until_both_work();
  const std::string moved = dir.file("moved.sonde");
  fs::rename(first.output(), moved);
  {
    const Victim second(dir, "spill", "wait", variables.get());
    second.wait_until_both_work();
    EXPECT_TRUE(first.goes_on()) << "the first program died of the second";
    EXPECT_TRUE(second.goes_on());
    first.kill();
    first.wait();
    EXPECT_TRUE(second.goes_on());
    second.kill();
    second.wait();
    expect_all_there(first, moved);
    expect_all_there(second);
  }
}

TEST_P(SecondOfAName, KeepsItsLiveFileWhenTheFirstEnds) {
  const TempDir dir;
  Variables variables(GetParam());
  const Victim first(dir, "spill", "exit on SIGTERM", variables.get());
  first.wait_until_both_work();
  fs::remove(first.output());
  const Victim second(dir, "spill", "wait", variables.get());
  second.wait_until_both_work();
  first.end();
  EXPECT_EQ(WEXITSTATUS(first.wait()), 8);
  second.kill();
  second.wait();
  expect_all_there(second);
}

INSTANTIATE_TEST_SUITE_P(Where, SecondOfAName, ::testing::Bool(), [](const auto& instance) {
  return std::string(instance.param ? "LocksHold" : "LocksDoNothing");
});

TEST(LiveFile, OfAKilledProgramIsReplaced) {
  const TempDir dir;
  {
    const Victim first(dir, "spill", "wait");
    first.wait_until_both_work();
    first.kill();
    first.wait();
    fs::rename(first.output() + ".live", dir.file("kept"));
  }
  fs::rename(dir.file("kept"), dir.file("victim.sonde.live"));
  const auto session = open_session({.output = dir.file("victim.sonde")});
  record_window(*session, [] { SONDE_SCOPE("work"); });
  ASSERT_TRUE(session->close());
  EXPECT_FALSE(fs::exists(dir.file("victim.sonde.live")));
}

class Planted : public ::testing::Test {
 protected:
  Planted() { std::ofstream(victim_) << "precious"; }

  void record() const {
    const auto session = open_session({.output = output_});
    ASSERT_NE(session, nullptr);
    const Trace trace = record_window(*session, [] { SONDE_SCOPE("work"); });
    EXPECT_EQ(count_spans(trace, "work"), 1u);
    EXPECT_EQ(ledger_sum(trace, LedgerKind::NotCrashSafe), 0u) << "another name is found";
    EXPECT_TRUE(session->close());
  }

  const TempDir dir_;
  const std::string output_ = dir_.file("run.sonde");
  const std::string victim_ = dir_.file("victim");
};

TEST_F(Planted, LinkAtTheLiveFilesNameIsNotFollowed) {
  fs::create_symlink(victim_, output_ + ".live");
  record();
  EXPECT_EQ(*read_file(victim_), "precious");
  EXPECT_TRUE(fs::is_symlink(output_ + ".live")) << "it is another's";
}

TEST_F(Planted, LinkThatLeadsNowhereIsNotFollowed) {
  fs::create_symlink(dir_.file("nowhere"), output_ + ".live");
  record();
  EXPECT_FALSE(fs::exists(dir_.file("nowhere")));
}

TEST_F(Planted, HardLinkIsNotWrittenThrough) {
  fs::create_hard_link(victim_, output_ + ".live");
  record();
  EXPECT_EQ(*read_file(victim_), "precious");
}

TEST_F(Planted, FileOfAnotherIsLeftAsItIs) {
  std::ofstream(output_ + ".live") << "notes of the user";
  record();
  EXPECT_EQ(*read_file(output_ + ".live"), "notes of the user");
}

TEST_F(Planted, LiveFileIsForItsUserAlone) {
  const auto session = open_session({.output = output_});
  struct stat facts = {};
  ASSERT_EQ(::stat((output_ + ".live").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  ASSERT_TRUE(session->close());
}

TEST_F(Planted, FinishedFileHonoursTheUmask) {
  const mode_t before = ::umask(027);
  record();
  ::umask(before);
  struct stat facts = {};
  ASSERT_EQ(::stat(output_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

}  // namespace
}  // namespace sonde::testing
