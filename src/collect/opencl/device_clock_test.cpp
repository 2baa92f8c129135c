// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/opencl/device_clock.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(DeviceClock, TakesTheMiddleOfWhatIsPossible) {
  DeviceClock clock;
  clock.see(1000, 51'100, 1200);  // read at some moment between the two
  EXPECT_EQ(clock.to_host_ns(51'100), 1100);
  EXPECT_EQ(clock.error_ns(), 100);
}

TEST(DeviceClock, KnowsMoreWithEveryMoment) {
  DeviceClock clock;
  constexpr std::int64_t kApart = 1'000'000;
  for (const std::int64_t moment : {1000, 2000, 3000}) {
    clock.see(moment - 500, moment + kApart, moment + 10);        // mostly before
    clock.see(moment + 90, moment + 100 + kApart, moment + 700);  // mostly after
  }
  EXPECT_LE(clock.error_ns(), 15);
  EXPECT_NEAR(static_cast<double>(clock.to_host_ns(5000 + kApart)), 5000, 15);
}

TEST(DeviceClock, FollowsAClockThatDrifts) {
  DeviceClock clock;
  const auto on_device = [](std::int64_t host) { return host + host / 100'000; };
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (std::int64_t host = 0; host < 100 * kSecond; host += kSecond / 10) {
    clock.see(host - 200, on_device(host), host + 200);
    EXPECT_NEAR(static_cast<double>(clock.to_host_ns(on_device(host))), static_cast<double>(host),
                static_cast<double>(clock.error_ns()) + 1);
  }
  EXPECT_LT(clock.error_ns(), 2500);
}

TEST(DeviceClock, BeginsAnewWhenAClockWasSet) {
  DeviceClock clock;
  clock.see(0, 10, 20);
  clock.see(1000, 9'000'010, 1020);
  EXPECT_EQ(clock.to_host_ns(9'000'010), 1010);
}

}  // namespace
}  // namespace sonde
