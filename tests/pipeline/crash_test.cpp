// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recording program ends in every bad way. Its file opens, and nothing that was recorded is
// missing.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "collect/testing/recorded.h"
#include "trace/testing/temp_dir.h"
#include "victim_process.h"

namespace sonde::testing {
namespace {

// How often tests that kill a program repeatedly do so; more with --deep.
int kills() {
  const char* const wanted = ::getenv("SONDE_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : 10;
}

template <typename Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

class Killed : public ::testing::TestWithParam<const char*> {};

TEST_P(Killed, LosesNothingAtAnyOfManyRandomMoments) {
  std::mt19937 random(20261115);
  std::uniform_int_distribution<std::uint64_t> moment(0, 20'000);
  const TempDir dir;
  for (int i = 0; i < kills(); ++i) {
    const Victim victim(dir, GetParam(), "wait");
    victim.wait_until_both_work();
    const std::uint64_t scopes = moment(random);
    wait_until([&] { return victim.completed() >= scopes; });
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
  for (int i = 0; i < kills(); ++i) {
    const Victim victim(dir, "spill", "wait");
    // There is nothing to wait for yet: any moment will do.
    const auto moment =
        std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds(random));
    while (std::chrono::steady_clock::now() < moment) std::this_thread::yield();
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
  const std::uint64_t before = victim.completed();
  const std::string copy = dir.file("copy.sonde");
  wait_until([&] {
    std::filesystem::copy_file(victim.output(), copy,
                               std::filesystem::copy_options::overwrite_existing);
    const auto so_far = open_sonde(copy);
    return so_far && count_spans(*so_far, "work") >= before;
  });
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

// PR_SET_TSC of prctl: reading the counter raises SIGSEGV.
TEST(MayNotReadTheCounter, IsRecordedWithTheSlowClock) {
#ifdef SONDE_SANITIZED
  GTEST_SKIP() << "the sanitizer's own code reads the counter";
#endif
  const TempDir dir;
  const Victim victim(dir, "spill", "exit without a counter");
  const int status = victim.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 8);
  const auto trace = open_sonde(victim.output());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(count_spans(*trace, "work"), 0u);
}

TEST(GivesUpTheCounter, IsRecordedWithTheKernelsClock) {
#ifdef SONDE_SANITIZED
  GTEST_SKIP() << "the sanitizer's own code reads the counter";
#endif
  const TempDir dir;
  const Victim victim(dir, "spill", "give up the counter");
  const int status = victim.wait();
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 8);
  const auto trace = open_sonde(victim.output());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count_spans(*trace, "after giving up"), 2'000u);
}

TEST(GivesUpSystemCalls, RecordsNothingMoreOnThatThread) {
#ifdef SONDE_SANITIZED
  GTEST_SKIP() << "the sanitizer makes system calls";
#endif
  const TempDir dir;
  const Victim victim(dir, "spill", "give up system calls");
  const int status = victim.wait();
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 8);
  const auto trace = open_sonde(victim.output());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count_spans(*trace, "after giving up"), 0u);
  EXPECT_GT(count_spans(*trace, "work"), 0u);
}

}  // namespace
}  // namespace sonde::testing
