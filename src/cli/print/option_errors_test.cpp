// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/option_errors.h"

#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

TEST(OptionErrors, SayWhatIsMissing) {
  EXPECT_EQ(in_own_words("TRACE is required"), "no TRACE given");
  EXPECT_EQ(in_own_words("A subcommand is required"), "no command given");
  EXPECT_EQ(in_own_words("--output is required"), "--output is missing");
  EXPECT_EQ(in_own_words("--row-limit: 1 required N missing"),
            "--row-limit needs a value: --row-limit N");
}

TEST(OptionErrors, SayWhatIsWrongWithAValue) {
  EXPECT_EQ(in_own_words("Could not convert: --row-limit = a"), "--row-limit: 'a' is not a number");
  EXPECT_EQ(in_own_words("--format: yaml not in {text,json,csv}"),
            "--format: 'yaml' is none of text, json, csv");
  EXPECT_EQ(in_own_words("--port: Value 99999999 not in range 0 to 65535"),
            "--port: 99999999 is not between 0 and 65535");
  EXPECT_EQ(
      in_own_words("--group-by-stack: Value -3 not in range 0.000000 to 1797693134862315708145"
                   "27423731704356798070567525844996598917476803157260780028538760589558632.0"),
      "--group-by-stack: -3 is less than 0");
}

TEST(OptionErrors, SayWhatIsTooMuch) {
  EXPECT_EQ(in_own_words("The following argument was not expected: y"), "unexpected argument 'y'");
  EXPECT_EQ(in_own_words("The following arguments were not expected: y z"),
            "unexpected arguments: y z");
  EXPECT_EQ(in_own_words("--row-limit: At Most 1 required but received 2"),
            "--row-limit was given 2 times; give it once");
}

TEST(OptionErrors, LeaveOtherMessagesAsTheyAre) {
  EXPECT_EQ(in_own_words("--for: 'abc' is not a duration"), "--for: 'abc' is not a duration");
}

}  // namespace
}  // namespace sonde::cli
