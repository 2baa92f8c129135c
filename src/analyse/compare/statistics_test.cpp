// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/compare/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sonde::detail {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Statistics, StudentsDistributionHasTheTabledQuantiles) {
  EXPECT_NEAR(student_quantile(0.975, 8), 2.306004, 1e-6);
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706205, 1e-5);
  EXPECT_NEAR(student_quantile(0.99, 4), 3.746947, 1e-6);
  EXPECT_NEAR(student_quantile(0.99, 5), 3.364930, 1e-6);
  EXPECT_NEAR(student_quantile(0.8, 1000), 0.841983, 1e-5);
  EXPECT_NEAR(student_quantile(0.025, 8), -2.306004, 1e-6);
  EXPECT_NEAR(student_cdf(2.306004, 8), 0.975, 1e-7);
  EXPECT_NEAR(student_cdf(-1, 3), 0.195501, 1e-6);
}

TEST(Statistics, TheRankTestHasTheSmallestProbabilitiesThatItCanHave) {
  EXPECT_NEAR(mann_whitney_p(0, 3, 3), 0.1, 1e-12);
  EXPECT_NEAR(mann_whitney_p(0, 4, 4), 2.0 / 70, 1e-12);
  EXPECT_NEAR(mann_whitney_p(0, 5, 5), 2.0 / 252, 1e-12);
  EXPECT_NEAR(mann_whitney_p(0, 3, 5), 2.0 / 56, 1e-12);
  EXPECT_DOUBLE_EQ(mann_whitney_p(12, 5, 5), 1);
}

TEST(Statistics, AShiftIsTheMedianOfAllRatios) {
  const Shift shift = shift_between({100, 110, 90}, {200, 220, 180});
  EXPECT_NEAR(shift.estimate, 1, 1e-12);
  EXPECT_LT(shift.p_welch, 0.01);
  EXPECT_LT(shift.p_more, shift.p_welch);
  EXPECT_GT(shift.interval.low, 0);
  EXPECT_LT(shift_between({200, 220, 180}, {100, 110, 90}).estimate, -0.49);
}

// By hand: variances 5/3 and 20/3, so t = 2.5 / sqrt(25/12), with 4.41 degrees of freedom.
TEST(Statistics, WelchsTestIsAsComputedByHand) {
  const std::vector<double> base = {std::exp(1.0), std::exp(2.0), std::exp(3.0), std::exp(4.0)};
  const std::vector<double> now = {std::exp(2.0), std::exp(4.0), std::exp(6.0), std::exp(8.0)};
  const Shift shift = shift_between(base, now);
  EXPECT_NEAR(shift.freedom, 4.411765, 1e-5);
  EXPECT_NEAR(shift.p_welch, 0.151, 1e-3);
}

TEST(Statistics, AWiderSpreadHidesLargerChanges) {
  const Shift steady = shift_between({100, 101, 99, 100, 100.5}, {100, 101, 99, 100, 100.5});
  const Shift loose = shift_between({100, 150, 70, 100, 120}, {100, 150, 70, 100, 120});
  EXPECT_LT(detectable_change(steady, 0.025), 0.02);
  EXPECT_GT(detectable_change(loose, 0.025), 0.5);
}

// Many steady runs do not make up for a few loose ones.
TEST(Statistics, WhatCouldBeSeenDependsOnTheLooseSide) {
  const std::vector<double> loose = {90, 100, 112};
  const std::vector<double> steady = {100, 100.1, 99.9, 100, 100.2, 99.8, 100, 100.1, 99.9, 100};
  const Shift shift = shift_between(loose, steady);
  EXPECT_GT(detectable_change(shift, 0.025), shift.interval.high);
}

// What is as large as the floor is measured to be smaller in half of the cases.
TEST(Statistics, WhatCouldBeSeenIsLargerThanTheFloor) {
  const Shift shift = shift_between({100, 101, 99, 100, 100.5}, {100, 101, 99, 100, 100.5});
  EXPECT_GT(detectable_change(shift, 0.025, 0.05), 0.05);
  EXPECT_LT(detectable_change(shift, 0.025, 0.05), 0.06);
  EXPECT_EQ(detectable_change(shift, 0.025, 0.001), detectable_change(shift, 0.025));
}

TEST(Statistics, SmallProbabilitiesAreNotRoundedToNone) {
  const Shift shift = shift_between({100, 100.01, 99.99, 100, 100.02, 99.98},
                                    {200, 200.01, 199.99, 200, 200.02, 199.98});
  EXPECT_GT(shift.p_more, 0);
  EXPECT_NEAR(shift.p_more / (shift.p_welch / 2), 1, 1e-6);
}

TEST(Statistics, DiscoveriesAndHolmAccountForBeingSeveral) {
  EXPECT_THAT(discoveries({0.001, 0.02, 0.04, 0.9}, 0.05), ElementsAre(true, true, false, false));
  EXPECT_THAT(discoveries({0.04, 0.9}, 0.05), ElementsAre(false, false));
  EXPECT_THAT(discoveries({}, 0.05), ElementsAre());
  EXPECT_THAT(
      holm({0.01, 0.04, 0.03}),
      ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12), DoubleNear(0.06, 1e-12)));
}

}  // namespace
}  // namespace sonde::detail
