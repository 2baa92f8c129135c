// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/values.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace sonde::cli {
namespace {

TEST(ParseDuration, KnowsUnitsAndTakesSecondsWithout) {
  EXPECT_EQ(parse_duration("5s").value(), 5'000'000'000);
  EXPECT_EQ(parse_duration("5").value(), 5'000'000'000);
  EXPECT_EQ(parse_duration("1.5ms").value(), 1'500'000);
  EXPECT_EQ(parse_duration("2m").value(), 120'000'000'000);
  EXPECT_EQ(parse_duration("1h").value(), 3'600'000'000'000);
  EXPECT_EQ(parse_duration("7ns").value(), 7);
}

TEST(ParseDuration, RefusesWhatIsNoTime) {
  for (const char* text : {"", "s", "soon", "0s", "-1s", "5 s", "5x", "nan", "inf", "1e30s"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(ParseSteps, TakesOneStepOrTheFirstAndTheLast) {
  EXPECT_EQ(parse_steps("40").value(), std::pair(40L, 40L));
  EXPECT_EQ(parse_steps("40..49").value(), std::pair(40L, 49L));
  for (const char* text : {"", "..", "4..", "..4", "5..4", "-1", "1...2", "a"})
    EXPECT_FALSE(parse_steps(text)) << text;
}

TEST(ParseBytes, CountsInPowersOf1024) {
  EXPECT_EQ(parse_bytes("4096").value(), 4096u);
  EXPECT_EQ(parse_bytes("64M").value(), 64u << 20);
  EXPECT_EQ(parse_bytes("64MiB").value(), 64u << 20);
  EXPECT_EQ(parse_bytes("1.5K").value(), 1536u);
  EXPECT_FALSE(parse_bytes("0"));
  EXPECT_FALSE(parse_bytes("1Z"));
}

TEST(ParseSignal, TakesNamesAndNumbers) {
  EXPECT_EQ(parse_signal("USR1").value(), SIGUSR1);
  EXPECT_EQ(parse_signal("SIGUSR2").value(), SIGUSR2);
  EXPECT_EQ(parse_signal("sigwinch").value(), SIGWINCH);
  EXPECT_EQ(parse_signal("10").value(), 10);
}

TEST(ParseSignal, RefusesThoseThatCannotBeHandled) {
  for (const char* text : {"", "KILL", "9", "STOP", "NONE", "0", "-1", "1000"})
    EXPECT_FALSE(parse_signal(text)) << text;
}

}  // namespace
}  // namespace sonde::cli
