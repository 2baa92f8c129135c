// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/apart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <new>
#include <stdexcept>

namespace sonde::cli {
namespace {

TEST(RunApart, TellsHowWorkFailedAndLivesOn) {
  EXPECT_EQ(run_apart([] {}), "");
  EXPECT_EQ(run_apart([] { throw std::bad_alloc(); }), "there is too little memory");
  EXPECT_EQ(run_apart([] { throw std::runtime_error("x"); }), "an error in Sonde");
  EXPECT_THAT(run_apart([] { ::raise(SIGKILL); }), ::testing::StartsWith("killed by signal 9 ("));
}

TEST(RunApart, ChangesNothingHere) {
  int number = 1;
  EXPECT_EQ(run_apart([&] { number = 2; }), "");
  EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace sonde::cli
