// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/optimizer_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sonde::torch {
namespace {

// Calls from the places that the letters stand for: "|" after those that end a step.
std::string steps_of(std::string_view calls) {
  OptimizerCalls optimizers;
  std::string text;
  for (const char place : calls) {
    text += place;
    if (optimizers.end_step(static_cast<std::uint64_t>(place))) text += '|';
  }
  return text;
}

TEST(OptimizerCalls, EachEndAStepIfThereIsOnePlace) {
  EXPECT_EQ(steps_of("aaaa"), "a|a|a|a|");
}

TEST(OptimizerCalls, OfTwoOptimizersEndOneStepARound) {
  EXPECT_EQ(steps_of("dgdgdg"), "d|gd|gd|g");
}

TEST(OptimizerCalls, OfThreeOptimizersEndOneStepARound) {
  EXPECT_EQ(steps_of("gabgabgab"), "g|abg|abg|ab");
}

TEST(OptimizerCalls, InARowEndOneStepARoundAfterTheFirst) {
  EXPECT_EQ(steps_of("dddgdddgdddg"), "d|d|d|gd|ddgd|ddg");
}

TEST(OptimizerCalls, FromElsewhereAreFollowedWhenTheyRepeat) {
  EXPECT_EQ(steps_of("wwaaaa"), "w|w|aa|a|a|");
  EXPECT_EQ(steps_of("wwdgdgdg"), "w|w|dgd|gd|g");
}

TEST(OptimizerCalls, EachEndAStepIfAnotherOneIsRare) {
  std::string calls;
  for (int round = 0; round < 3; ++round) calls += std::string(20, 'a') + "b";
  EXPECT_EQ(steps_of(calls).size(), calls.size() + 60);
}

}  // namespace
}  // namespace sonde::torch
