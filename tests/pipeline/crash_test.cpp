// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recording program ends in every bad way there is; its file opens, and nothing that was recorded
// is missing.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "collect/testing/recorded.h"
#include "progress.h"
#include "trace/testing/temp_dir.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace sonde::testing {
namespace {

class Victim {
 public:
  Victim(const TempDir& dir, const std::string& policy, const std::string& ending)
      : output_(dir.file("victim.sonde")), progress_path_(dir.file("progress")) {
    progress_ = map_progress(progress_path_);
    std::string program = SONDE_VICTIM;
    std::string policy_argument = policy;
    std::string ending_argument = ending;
    char* arguments[] = {program.data(),         output_.data(),        policy_argument.data(),
                         ending_argument.data(), progress_path_.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  }
  ~Victim() {
    ::munmap(progress_, sizeof(Progress));
    std::filesystem::remove(progress_path_);
    std::filesystem::remove(output_);
    std::filesystem::remove(output_ + ".live");
  }

  bool both_work() const {
    return progress_->completed[0].load() > 0 && progress_->completed[1].load() > 0;
  }
  void wait_until_both_work() const {
    while (!both_work()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return status;
  }
  std::uint64_t completed() const {
    return progress_->completed[0].load() + progress_->completed[1].load();
  }
  const std::string& output() const { return output_; }

 private:
  std::string output_;
  std::string progress_path_;
  Progress* progress_ = nullptr;
  pid_t pid_ = 0;
};

// Every scope that was ended before the kill is there, and what was open is shown so.
void expect_all_there(const Victim& victim) {
  const auto trace = open_sonde(victim.output());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::DroppedByBudget), 0u);
  std::size_t finished = 0;
  for (const SpanId span : trace->all_spans()) {
    if (trace->name(span) == "work" && (trace->spans().flags[span] & SpanFlags::kUnfinished) == 0)
      ++finished;
    ASSERT_FALSE(trace->name(span).empty());
  }
  EXPECT_GE(finished, victim.completed());
  EXPECT_LE(finished, victim.completed() + 2) << "each worker may have ended one more than it told";
  const SpanId open = find_span(*trace, "for ever");
  EXPECT_NE(trace->spans().flags[open] & SpanFlags::kUnfinished, 0);
  EXPECT_EQ(trace->spans().duration_ns[open], trace->last_ns() - trace->spans().start_ns[open]);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Unmatched), 0u);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Undecodable), 0u);
}

class Killed : public ::testing::TestWithParam<const char*> {};

TEST_P(Killed, LosesNothingAtAnyOfManyRandomMoments) {
  std::mt19937 random(20261115);
  std::uniform_int_distribution<int> microseconds(0, 60'000);
  const TempDir dir;
  for (int i = 0; i < 40; ++i) {
    const Victim victim(dir, GetParam(), "wait");
    victim.wait_until_both_work();
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    victim.kill();
    victim.wait();
    SCOPED_TRACE(i);
    expect_all_there(victim);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, Killed, ::testing::Values("spill", "drop", "ring"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Killed, LeavesAFileThatOpensEvenWhileItStarts) {
  std::mt19937 random(15112026);
  std::uniform_int_distribution<int> microseconds(0, 15'000);
  const TempDir dir;
  for (int i = 0; i < 40; ++i) {
    const Victim victim(dir, "spill", "wait");
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    victim.kill();
    victim.wait();
    if (!std::filesystem::exists(victim.output())) continue;
    const auto trace = open_sonde(victim.output());
    ASSERT_TRUE(trace) << trace.error().message;
  }
}

TEST(Killed, LosesOnlyTheLastMomentsWhenTheLiveFileIsGone) {
  const TempDir dir;
  const Victim victim(dir, "spill", "wait");
  victim.wait_until_both_work();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const std::uint64_t before = victim.completed();
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  victim.kill();
  victim.wait();
  std::filesystem::remove(victim.output() + ".live");
  const auto trace = open_sonde(victim.output());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GE(count_spans(*trace, "work"), before);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Truncated, "what was still in memory is missing"), 1u);
}

class EndsBadly : public ::testing::TestWithParam<const char*> {};

TEST_P(EndsBadly, LosesNothing) {
  const TempDir dir;
  const Victim victim(dir, "spill", GetParam());
  const int status = victim.wait();
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_all_there(victim);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, EndsBadly, ::testing::Values("abort", "_exit", "crash"),
                         [](const auto& instance) {
                           return std::string(instance.param[0] == '_' ? "immediately"
                                                                       : instance.param);
                         });

TEST(EndsWithoutStopping, LeavesAWholeFile) {
  const TempDir dir;
  const Victim victim(dir, "spill", "exit");
  const int status = victim.wait();
  EXPECT_EQ(WEXITSTATUS(status), 8) << "recording does not change how a program ends";
  EXPECT_FALSE(std::filesystem::exists(victim.output() + ".live"));
  const auto trace = open_sonde(victim.output());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(count_spans(*trace, "work"), 0u);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Truncated), 0u);
  EXPECT_NE(trace->spans().flags[find_span(*trace, "for ever")] & SpanFlags::kUnfinished, 0);
}

}  // namespace
}  // namespace sonde::testing
