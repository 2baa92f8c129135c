// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program gets the same signals as without `sonde run`, and its stopping is visible.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "launched.h"

namespace sonde::testing {
namespace {

TEST(Signals, ToTheWholeGroupReachTheProgramOnce) {
  const TempDir dir;
  Launched run(dir, sonde_run({"--", RUN_SCOPES, "count-signals", "ready"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready")));
  ::kill(-run.pid(), SIGINT);
  EXPECT_EQ(run.wait(), 1) << run.errors();
}

TEST(Signals, ToSondeAloneArePassedOn) {
  const TempDir dir;
  Launched run(dir, sonde_run({"--", RUN_SCOPES, "count-signals", "ready"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready")));
  ::kill(run.pid(), SIGINT);
  EXPECT_EQ(run.wait(), 1) << run.errors();
}

// The program reports the signals that reach it.
class SignalsToSonde : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = std::make_unique<Launched>(dir_, sonde_run({"--", RUN_SCOPES, "tell-signals", "ready"}));
    ASSERT_TRUE(wait_for_file(dir_.file("ready")));
  }
  void expect_told(const std::string& lines) {
    EXPECT_TRUE(eventually([&] { return run_->output() == lines; })) << run_->output();
  }
  void end(std::string lines) {
    ::kill(run_->pid(), SIGALRM);
    EXPECT_EQ(run_->wait(), 0) << run_->errors();
    EXPECT_EQ(run_->output(), lines + std::to_string(SIGALRM) + " 0\n");
  }

  const TempDir dir_;
  std::unique_ptr<Launched> run_;
};

TEST_F(SignalsToSonde, ArePassedOnWhicheverTheyAre) {
  std::string expected;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    const bool is_the_c_librarys = number > SIGSYS && number < SIGRTMIN;
    if (number == SIGKILL || number == SIGSTOP || number == SIGALRM || is_the_c_librarys) continue;
    ::kill(run_->pid(), number);
    expected += std::to_string(number) + " 0\n";
    expect_told(expected);
  }
  end(expected);
}

TEST_F(SignalsToSonde, KeepTheirOrderCountAndValueIfTheyAreQueued) {
  std::string expected;
  for (int value = 1; value <= 20; ++value) {
    ASSERT_EQ(::sigqueue(run_->pid(), SIGRTMIN + 3, {.sival_int = value}), 0);
    expected += std::to_string(SIGRTMIN + 3) + " " + std::to_string(value) + "\n";
  }
  expect_told(expected);
  end(expected);
}

// Sonde waits 20 ms for the other processes to get the signal. A sender that did not run for longer
// than that proves nothing.
TEST_F(SignalsToSonde, AlsoReachTheProgramOnceIfEachProcessGetsThem) {
  for (int attempts = 0; attempts < 100; ++attempts) {
    const std::vector<pid_t> children = children_of(*run_);
    ASSERT_EQ(std::ranges::count(children, program_of(*run_, RUN_SCOPES)), 1);
    const auto begin = std::chrono::steady_clock::now();
    ::kill(run_->pid(), SIGUSR1);
    for (const pid_t child : children) ::kill(child, SIGUSR1);
    if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(15)) {
      expect_told(std::to_string(SIGUSR1) + " 0\n");
      return end(std::to_string(SIGUSR1) + " 0\n");
    }
    run_.reset();  // it may have got the signal twice
    std::filesystem::remove(dir_.file("ready"));
    SetUp();
  }
  FAIL() << "two signals were never sent within 15 ms";
}

TEST(Signals, OfTheCLibraryEndTheProgramToo) {
  const TempDir dir;
  Launched run(dir, sonde_run({"--", "/bin/sleep", "1000"}));
  ASSERT_GT(program_of(run, std::filesystem::canonical("/bin/sleep")), 0);
  ::kill(run.pid(), SIGRTMIN - 1);
  EXPECT_EQ(run.wait(), 128 + SIGRTMIN - 1) << run.errors();
}

// The signal that stopped it, from a shell's point of view.
int stopped_by(const Launched& run) {
  int status = 0;
  if (::waitpid(run.pid(), &status, WUNTRACED) != run.pid() || !WIFSTOPPED(status)) return 0;
  return WSTOPSIG(status);
}

TEST(Stopping, OfTheProgramIsSeenAndEndsWhenSondeIsContinued) {
  for (const int number : {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    for (const bool whole_group : {false, true}) {
      const TempDir dir;
      Launched run(dir, sonde_run({"--", RUN_SCOPES, "stop", std::to_string(number), "continued"}));
      ASSERT_EQ(stopped_by(run), number);
      EXPECT_FALSE(std::filesystem::exists(dir.file("continued")));
      ::kill(whole_group ? -run.pid() : run.pid(), SIGCONT);
      EXPECT_EQ(run.wait(), 3) << run.errors();
      EXPECT_TRUE(std::filesystem::exists(dir.file("continued")));
    }
  }
}

TEST(Stopping, ByATerminalStopsBothUntilTheGroupIsContinued) {
  const TempDir dir;
  Launched run(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready")));
  for (int i = 0; i < 3; ++i) {
    ::kill(-run.pid(), SIGTSTP);
    ASSERT_EQ(stopped_by(run), SIGTSTP);
    ::kill(-run.pid(), SIGCONT);
  }
  ::kill(run.pid(), SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGTERM) << run.errors();
}

// The group was stopped, and only `sonde run` was continued: the program still gets its signals.
TEST(Stopping, OfTheGroupDoesNotKeepSignalsFromTheProgram) {
  const TempDir dir;
  Launched run(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready")));
  ::kill(-run.pid(), SIGSTOP);
  ASSERT_EQ(stopped_by(run), SIGSTOP);
  ::kill(run.pid(), SIGCONT);
  ::kill(run.pid(), SIGTERM);
  for (int status = 0; ::waitpid(run.pid(), &status, WUNTRACED) == run.pid();) {
    if (!WIFSTOPPED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
      break;
    }
    ::kill(run.pid(), SIGCONT);
  }
}

TEST(Signals, ThatEndTheProgramEndSondeWithItsStatus) {
  const TempDir dir;
  Launched run(dir, sonde_run({"-o", "run.sonde", "--", RUN_SCOPES, "wait", "ready"}));
  ASSERT_TRUE(wait_for_file(dir.file("ready")));
  ::kill(-run.pid(), SIGINT);
  EXPECT_EQ(run.wait(), 128 + SIGINT);
  EXPECT_GE(spans_in(dir.file("run.sonde"), "work"), 10u);
}

}  // namespace
}  // namespace sonde::testing
