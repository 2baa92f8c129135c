// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `sonde run --ring` and `--dump-on`: the last seconds before something went wrong.

#include "launched.h"
#include "sonde/analyse/program_facts.h"

namespace sonde::testing {
namespace {

class Dumped : public ::testing::Test {
 protected:
  int run(const std::string& reasons, const std::vector<std::string>& program,
          const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"-o", "run.sonde", "--dump-on", reasons};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
    Launched launched(dir_, sonde_run(words));
    const int status = launched.wait();
    errors_ = launched.errors();
    return status;
  }
  bool said(const std::string& text) const { return errors_.find(text) != std::string::npos; }
  bool is_there(const std::string& name) const { return std::filesystem::exists(dir_.file(name)); }
  // Why a file was written.
  std::string why(const std::string& name) const {
    const auto trace = open_sonde(dir_.file(name));
    return trace ? program_end(*trace).dumped_because : trace.error().message;
  }
  std::size_t files() const { return files_ending_in(dir_.path(), ".sonde").size(); }

  TempDir dir_;
  std::string errors_;
};

TEST_F(Dumped, NothingIsWrittenIfNothingHappens) {
  EXPECT_EQ(run("crash,exit!=0,signal:USR2", {RUN_SCOPES, "work", "1000"}), 0);
  EXPECT_TRUE(said("no dump: nothing happened that --dump-on names\n")) << errors_;
  EXPECT_EQ(files(), 0u);
  EXPECT_FALSE(is_there("run.sonde.live"));
}

TEST_F(Dumped, ASlowStepIsWrittenWithItsReason) {
  EXPECT_EQ(run("slow-step:30x", {RUN_SCOPES, "steps", "14", "12"}), 0) << errors_;
  ASSERT_TRUE(is_there("run.001.sonde")) << errors_;
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(why("run.001.sonde").rfind("step 12 took 2", 0), 0u) << why("run.001.sonde");
  EXPECT_TRUE(said("run.001.sonde: step 12 took ")) << errors_;
  EXPECT_EQ(spans_in(dir_.file("run.001.sonde"), "ProfilerStep#12"), 1u);
}

TEST_F(Dumped, SaysThatAProgramWithoutStepsHasNoSlowOnes) {
  EXPECT_EQ(run("slow-step:3x", {RUN_SCOPES, "work", "10"}), 0);
  EXPECT_TRUE(said("no steps of the program were seen")) << errors_;
}

TEST_F(Dumped, ACrashLeavesTheRing) {
  EXPECT_EQ(run("crash", {RUN_SCOPES, "trap", "1000"}), 128 + SIGILL) << errors_;
  ASSERT_TRUE(is_there("run.001.sonde")) << errors_;
  EXPECT_EQ(files(), 1u);
  EXPECT_FALSE(is_there("run.sonde.live"));
  EXPECT_EQ(spans_in(dir_.file("run.001.sonde"), "work"), 1000u);
  EXPECT_EQ(why("run.001.sonde"), "the program crashed or was killed");
  const auto trace = open_sonde(dir_.file("run.001.sonde"));
  EXPECT_EQ(program_end(*trace).signal, SIGILL);
  EXPECT_TRUE(said("1,000 spans in ") && said(", nothing lost)")) << errors_;
}

TEST_F(Dumped, AnAbortIsACrashToo) {
  EXPECT_EQ(run("crash", {RUN_SCOPES, "abort", "1000"}), 128 + SIGABRT) << errors_;
  EXPECT_EQ(spans_in(dir_.file("run.001.sonde"), "work"), 1000u);
}

TEST_F(Dumped, AStatusOtherThanZeroIsAReasonOnlyIfAsked) {
  EXPECT_EQ(run("crash", {RUN_SCOPES, "work", "10", "3"}), 3);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(run("exit!=0", {RUN_SCOPES, "work", "10", "3"}), 3);
  EXPECT_EQ(why("run.001.sonde"), "the program did not end well");
}

TEST_F(Dumped, WhoeverAsksAProgramToEndMakesNoCrash) {
  EXPECT_EQ(run("crash", {RUN_SCOPES, "kill", "10"}), 128 + SIGTERM);
  EXPECT_EQ(files(), 0u);
}

TEST_F(Dumped, ASignalWritesTheRingAndTheProgramGoesOn) {
  Launched launched(dir_, sonde_run({"-o", "run.sonde", "--dump-on", "signal:USR2", "--dumps", "2",
                                     "--", RUN_SCOPES, "wait", "ready"}));
  ASSERT_TRUE(wait_for_file(dir_.file("ready")));
  const pid_t program = program_of(launched, RUN_SCOPES);
  for (const char* const name : {"run.001.sonde", "run.002.sonde"}) {
    ::kill(program, SIGUSR2);
    ASSERT_TRUE(wait_for_file(dir_.file(name))) << launched.errors();
    EXPECT_EQ(why(name), "signal USR2 asked for it");
  }
  ::kill(program, SIGUSR2);
  ::kill(program, SIGTERM);
  launched.wait();
  EXPECT_EQ(files(), 2u) << launched.errors();
}

TEST_F(Dumped, HasTheLastSecondsAlone) {
  EXPECT_EQ(run("exit!=0", {RUN_SCOPES, "held-back", "1000"}, {"--ring", "50ms"}), 42) << errors_;
  EXPECT_EQ(spans_in(dir_.file("run.001.sonde"), "work"), 1000u);
  const auto trace = open_sonde(dir_.file("run.001.sonde"));
  EXPECT_LE(trace->windows().end_ns[0] - trace->windows().start_ns[0], 51'000'000);
}

TEST_F(Dumped, ACrashHasTheLastSecondsAlone) {
  EXPECT_EQ(run("crash", {RUN_SCOPES, "trap-late", "1000"}, {"--ring", "50ms"}), 128 + SIGILL);
  EXPECT_EQ(spans_in(dir_.file("run.001.sonde"), "work"), 1000u);
}

// A megabyte holds some 60,000 scopes.
TEST_F(Dumped, SaysIfTheMemoryIsTooSmallForTheTime) {
  EXPECT_EQ(run("exit!=0", {RUN_SCOPES, "work", "300000", "1"}, {"--budget", "1M"}), 1);
  const auto trace = open_sonde(dir_.file("run.001.sonde"));
  ASSERT_TRUE(trace) << trace.error().message;
  bool is_told = false;
  for (std::size_t i = 0; i < trace->ledger().size(); ++i) {
    const std::string_view detail = trace->string(trace->ledger().detail[i]);
    is_told = is_told || detail.find("--budget makes them larger") != std::string_view::npos;
    EXPECT_NE(trace->ledger().kind[i], LedgerKind::Overwritten);
  }
  EXPECT_TRUE(is_told) << errors_;
  EXPECT_GT(count_spans(*trace, "work"), 10'000u);
}

TEST_F(Dumped, RingsWithoutReasonsAreWrittenAtTheEnd) {
  Launched launched(
      dir_, sonde_run({"-o", "run.sonde", "--ring", "30s", "--", RUN_SCOPES, "work", "1000"}));
  EXPECT_EQ(launched.wait(), 0);
  EXPECT_EQ(spans_in(dir_.file("run.sonde"), "work"), 1000u) << launched.errors();
}

TEST_F(Dumped, RefusesWhatMakesNoSense) {
  EXPECT_EQ(run("soon", {"/bin/true"}), 2);
  EXPECT_TRUE(said("the reasons are slow-step:3x, hang:60s, signal:USR2, crash and exit!=0"))
      << errors_;
  EXPECT_EQ(run("crash", {"/bin/true"}, {"--policy", "drop"}), 2);
}

}  // namespace
}  // namespace sonde::testing
