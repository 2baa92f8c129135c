// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes that a recorded program starts.

#include <sys/prctl.h>
#include <sys/wait.h>

#include "launched.h"

namespace sonde::testing {
namespace {

int run_to_end(const TempDir& dir, std::vector<std::string> words, std::string* output = nullptr) {
  Launched launched(dir, sonde_run(std::move(words)));
  const int status = launched.wait();
  if (output != nullptr) *output = launched.output();
  return status;
}

TEST(Children, AreRecordedEachToAFileOfItsOwn) {
  const TempDir dir;
  EXPECT_EQ(run_to_end(dir, {"--", RUN_SCOPES, "spawn", RUN_SCOPES, "spawn", RUN_SCOPES, "work",
                             "50", "6"}),
            6);
  // Processes that only started others have recorded nothing.
  const auto files = files_ending_in(dir.path(), ".sonde");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(spans_in(files.front(), "work"), 50u);
}

// Includes children that end while their recording begins.
TEST(Children, ThatDidNothingLeaveNoFile) {
  for (const char* const how : {"fork-idle", "fork-brief"}) {
    const TempDir dir;
    EXPECT_EQ(run_to_end(dir, {"--", RUN_SCOPES, how, "50"}), 0);
    const auto files = files_ending_in(dir.path(), ".sonde");
    ASSERT_EQ(files.size(), 1u) << how;
    EXPECT_EQ(spans_in(files.front(), "work"), 50u) << how;
    EXPECT_TRUE(files_ending_in(dir.path(), ".live").empty()) << how;
  }
}

TEST(Children, NeverShareAFileWhoseNameTheyWouldAllHave) {
  const TempDir dir;
  const std::string two = "'" RUN_SCOPES "' work 10 & '" RUN_SCOPES "' work 20; wait";
  EXPECT_EQ(run_to_end(dir, {"-o", "run.sonde", "--", "/bin/sh", "-c", two}), 0);
  const auto files = files_ending_in(dir.path(), ".sonde");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(spans_in(files[0], "work") + spans_in(files[1], "work"), 30u);
  EXPECT_TRUE(std::filesystem::exists(dir.file("run.sonde")));
}

TEST(Children, AreNamedFirstWhereTheyHaveMoreToShow) {
  const TempDir dir;
  const std::string two = "'" RUN_SCOPES "' work 10; RANK=0 WORLD_SIZE=2 '" RUN_SCOPES "' work 20";
  Launched launched(dir, sonde_run({"-o", "run-{rank}.sonde", "--", "/bin/sh", "-c", two}));
  EXPECT_EQ(launched.wait(), 0);
  const std::string errors = launched.errors();
  EXPECT_LT(errors.find("run-0.sonde: 20 spans"), errors.find("run-none.sonde: 10 spans"));
  EXPECT_NE(errors.find("; next: sonde report run-0.sonde\n"), std::string::npos) << errors;
}

TEST(Children, ThatAreRanksOfAJobAreLookedAtTogether) {
  const TempDir dir;
  const std::string launcher =
      "'" RUN_SCOPES "' work 5; for rank in 1 0; do RANK=$rank WORLD_SIZE=2 '" RUN_SCOPES
      "' work 20; done";
  Launched launched(dir, sonde_run({"-o", "run-{rank}.sonde", "--", "/bin/sh", "-c", launcher}));
  EXPECT_EQ(launched.wait(), 0);
  const std::string errors = launched.errors();
  EXPECT_NE(errors.find("; next: sonde job run-0.sonde run-1.sonde\n"), std::string::npos)
      << errors;
}

TEST(Children, ThatAreKilledAndLeftBehindHaveEnded) {
  const TempDir dir;
  // This process reaps the shell's orphans.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const std::string begun = dir.file("begun");
  const std::string shell = "'" RUN_SCOPES "' wait '" + begun + "' & while [ ! -e '" + begun +
                            "' ]; do sleep 0.05; done; kill -9 $!";
  Launched launched(dir, sonde_run({"-o", "run.sonde", "--", "/bin/sh", "-c", shell}));
  EXPECT_EQ(launched.wait(), 0);
  EXPECT_EQ(launched.errors().find("still runs"), std::string::npos) << launched.errors();
  EXPECT_GT(spans_in(dir.file("run.sonde"), "work"), 0u);
  EXPECT_FALSE(std::filesystem::exists(dir.file("run.sonde.live")));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::waitpid(-1, nullptr, WNOHANG);
}

TEST(Children, ThatOutliveTheProgramAreNotTakenForBroken) {
  const TempDir dir;
  const std::string begun = dir.file("begun");
  const std::string shell = "'" RUN_SCOPES "' wait '" + begun + "' & while [ ! -e '" + begun +
                            "' ]; do sleep 0.05; done; echo $!";
  Launched launched(dir, sonde_run({"-o", "run.sonde", "--", "/bin/sh", "-c", shell}));
  EXPECT_EQ(launched.wait(), 0);
  EXPECT_NE(launched.errors().find(", nothing lost; its process is still running;"),
            std::string::npos)
      << launched.errors();
  ::kill(std::stoi(launched.output()), SIGKILL);
}

TEST(Children, KnowNothingOfSondeIfTheyAreNotFollowed) {
  const TempDir dir;
  std::string output;
  EXPECT_EQ(run_to_end(dir,
                       {"--no-follow-children", "--", RUN_SCOPES, "spawn", RUN_SCOPES, "spawn",
                        RUN_SCOPES, "environment"},
                       &output),
            0);
  EXPECT_EQ(output, "- 0\n");
  EXPECT_TRUE(files_ending_in(dir.path(), ".sonde").empty());
}

TEST(Children, AreNoneIfTheProgramOnlyTurnsIntoAnother) {
  const TempDir dir;
  EXPECT_EQ(run_to_end(dir, {"-o", "run.sonde", "--no-follow-children", "--", "/usr/bin/env",
                             RUN_SCOPES, "work", "40"}),
            0);
  EXPECT_EQ(spans_in(dir.file("run.sonde"), "work"), 40u);
}

TEST(Children, OfForkRecordToFilesOfTheirOwn) {
  const TempDir dir;
  EXPECT_EQ(run_to_end(dir, {"-o", "run-{pid}.sonde", "--", RUN_SCOPES, "fork", "5"}), 0);
  const auto files = files_ending_in(dir.path(), ".sonde");
  ASSERT_EQ(files.size(), 2u);
  const std::size_t spans[] = {spans_in(files[0], "work"), spans_in(files[1], "work")};
  EXPECT_EQ(std::min(spans[0], spans[1]), 5u) << "the parent's";
  EXPECT_GT(std::max(spans[0], spans[1]), 100u) << "the child's, but for its first moments";
}

// Like the children of Python's multiprocessing.
TEST(Children, OfForkThatEndWithoutCleaningUpLoseNothing) {
  const TempDir dir;
  Launched launched(dir, sonde_run({"--", RUN_SCOPES, "fork-_exit", "5"}));
  EXPECT_EQ(launched.wait(), 0);
  EXPECT_EQ(files_ending_in(dir.path(), ".sonde").size(), 2u);
  EXPECT_EQ(launched.errors().find("but: "), std::string::npos) << launched.errors();
}

TEST(Children, OfForkAreLeftAloneIfChildrenAreNotFollowed) {
  const TempDir dir;
  EXPECT_EQ(run_to_end(dir, {"--no-follow-children", "--", RUN_SCOPES, "fork", "5"}), 0);
  EXPECT_EQ(files_ending_in(dir.path(), ".sonde").size(), 1u);
}

}  // namespace
}  // namespace sonde::testing
