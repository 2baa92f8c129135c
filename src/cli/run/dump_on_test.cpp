// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/dump_on.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace sonde::cli {
namespace {

TEST(DumpOn, ReadsTheReasons) {
  const auto on = parse_dump_on("slow-step:2.5x,hang:2m,signal:USR2,crash,exit!=0");
  ASSERT_TRUE(on) << on.error().message;
  EXPECT_EQ(on->rules.slow_step_percent, 250);
  EXPECT_EQ(on->rules.hang_ns, 120'000'000'000);
  EXPECT_EQ(on->rules.signal, SIGUSR2);
  EXPECT_TRUE(on->crash);
  EXPECT_TRUE(on->bad_exit);
  EXPECT_FALSE(parse_dump_on("crash")->needs_steps());
}

TEST(DumpOn, RefusesWhatMakesNoSense) {
  for (const char* const wrong :
       {"", "crash,", "exit", "exit=1", "slow-step", "slow-step:1x", "slow-step:3y",
        "slow-step:nan", "hang:soon", "signal:KILL", "signal:", "Crash"}) {
    EXPECT_FALSE(parse_dump_on(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sonde::cli
