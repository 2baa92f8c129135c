// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace sonde {
namespace {

ClockAnchor anchor(std::uint64_t ticks, std::int64_t monotonic, std::int64_t realtime = 0,
                   std::uint64_t spread = 0) {
  return {ticks, monotonic, realtime, spread};
}

TEST(TickMap, IsLinearBetweenAnchorsAndBeyondThem) {
  const TickMap map({anchor(1'000, 0, 5'000'000), anchor(3'000, 1'000, 5'001'000)});
  EXPECT_EQ(map.to_ns(1'000), 5'000'000);
  EXPECT_EQ(map.to_ns(2'000), 5'000'500);
  EXPECT_EQ(map.to_ns(4'000), 5'001'500);
  EXPECT_EQ(map.to_ns(0), 4'999'500);
  EXPECT_EQ(map.error_ns(), 0);
}

TEST(TickMap, FollowsARateThatChanges) {
  const TickMap map({anchor(0, 0), anchor(100, 100), anchor(200, 300)});
  EXPECT_EQ(map.to_ns(50), 50);
  EXPECT_EQ(map.to_ns(150), 200);
  EXPECT_EQ(map.error_ns(), 50)
      << "the inner anchor lies 50 ns off the line between its neighbours";
}

TEST(TickMap, RoundsToTheNearestNanosecond) {
  TickMap::Segment segment;
  segment.ticks = 100;
  for (const double rate : {0.5, 0.25, 0.3, 1.0 / 3, 0.49999999999999994, 2.7}) {
    segment.rate = rate;
    for (std::uint64_t t = 0; t < 200; ++t) {
      const double away = static_cast<double>(static_cast<std::int64_t>(t - 100)) * rate;
      EXPECT_EQ(segment.to_ns(t), std::llround(away)) << away;
    }
  }
}

TEST(TickMap, ReportsHalfTheSpreadOfAnAnchorAsError) {
  const TickMap map({anchor(0, 0, 0, 40), anchor(1'000, 1'000, 1'000, 10)});
  EXPECT_EQ(map.error_ns(), 20);
}

TEST(TickMap, IgnoresStepsOfTheSystemsClock) {
  const TickMap map({anchor(0, 0, 1'000), anchor(100, 100, 999'999'999)});
  EXPECT_EQ(map.to_ns(100), 1'100);
}

TEST(TickMap, SurvivesAnchorsThatMakeNoSense) {
  const TickMap map({anchor(5, 100), anchor(5, 200), anchor(4, 300),
                     anchor(std::numeric_limits<std::uint64_t>::max(), -5, 7, ~0ull),
                     anchor(1, std::numeric_limits<std::int64_t>::min()),
                     anchor(2, std::numeric_limits<std::int64_t>::max(),
                            std::numeric_limits<std::int64_t>::max())});
  map.to_ns(0);
  map.to_ns(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(TickMap({}).to_ns(42), 42);
}

TEST(Clock, AgreesWithTheSystemsClockOverAShortTime) {
  const ClockAnchor first = take_anchor();
  const std::int64_t until = monotonic_ns() + 20'000'000;
  while (monotonic_ns() < until) {
  }
  const TickMap map({first, take_anchor()});
  const ClockAnchor check = take_anchor();
  const std::int64_t expected = first.realtime_ns + (check.monotonic_ns - first.monotonic_ns);
  EXPECT_NEAR(static_cast<double>(map.to_ns(check.ticks)), static_cast<double>(expected), 20'000.0);
}

TEST(ClockDeathTest, FallsBackToTheMonotonicClockWhenForced) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::setenv("SONDE_CLOCK", "monotonic", 1);
        const bool fell_back = tick_source() == TickSource::Monotonic;
        const auto ns = static_cast<std::uint64_t>(monotonic_ns());
        std::exit(fell_back && read_ticks() - ns < 1'000'000'000 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sonde
