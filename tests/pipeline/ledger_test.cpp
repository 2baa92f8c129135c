// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that records more than its buffers hold is killed. The events in its file and the
// losses in its ledger add up to what the program counted.

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "collect/testing/recorded.h"
#include "sonde/detail/words.h"
#include "trace/testing/temp_dir.h"
#include "victim_process.h"

namespace sonde::testing {
namespace {

class KilledWhileLosing : public ::testing::TestWithParam<const char*> {};

TEST_P(KilledWhileLosing, SaysHowMuchIsMissing) {
  // Buffers that are being moved when the kill comes may be counted twice or not at all.
  constexpr std::uint64_t kMoved = 16 * (detail::kChunkBytes / 8);
  std::mt19937 random(18112026);
  std::uniform_int_distribution<int> milliseconds(0, 300);
  const TempDir dir;
  for (int i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    const Victim victim(dir, GetParam(), "flood");
    victim.wait_until_both_work();
    while (victim.completed() < 300'000 && victim.lives()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random)));
    victim.kill();
    victim.wait();
    const auto trace = open_sonde(victim.output());
    ASSERT_TRUE(trace) << trace.error().message;
    const std::uint64_t kept = ledger_sum(*trace, LedgerKind::EventsWritten);
    const std::uint64_t lost = ledger_sum(*trace, LedgerKind::DroppedByBudget) +
                               ledger_sum(*trace, LedgerKind::Overwritten);
    // Two scopes per round, and one that is always open. Each worker may be in a round that it has
    // not reported.
    const std::uint64_t recorded = 4 * victim.completed() + 1;
    EXPECT_GE(kept + lost + kMoved, recorded) << kept << " kept, " << lost << " lost";
    EXPECT_LE(kept + lost, recorded + 2 * 4 + kMoved) << kept << " kept, " << lost << " lost";
    EXPECT_EQ(ledger_sum(*trace, LedgerKind::DamagedBytes), 0u);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, KilledWhileLosing, ::testing::Values("spill", "drop", "ring"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace sonde::testing
