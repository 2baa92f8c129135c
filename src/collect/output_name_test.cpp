// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/output_name.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "collect/distributed.h"

namespace sonde {
namespace {

class OutputName : public ::testing::Test {
 protected:
  void TearDown() override { reset_distributed_info(); }
};

TEST_F(OutputName, FillsWhatStandsInBraces) {
  EXPECT_EQ(*fill_output_name("a-{pid}.sonde"), "a-" + std::to_string(::getpid()) + ".sonde");
  EXPECT_EQ(*fill_output_name("{host}/{program}"), host_name() + "/" + program_name());
  EXPECT_EQ(*fill_output_name(""), "");
}

TEST_F(OutputName, RefusesWordsItDoesNotKnow) {
  for (const char* pattern : {"{colour}", "a{", "a{pid", "{}"}) {
    EXPECT_FALSE(fill_output_name(pattern)) << pattern;
  }
}

// torchrun loads libtorch too, before rank 0 does: it must not take that rank's file.
TEST_F(OutputName, KeepsRankZeroForTheProcessThatHasIt) {
  EXPECT_EQ(*fill_output_name("run-{rank}{rank}.sonde"), "run-nonenone.sonde");
}

TEST_F(OutputName, TellsTheRanksOfARunApart) {
  DistributedInfo info;
  info.rank = 3;
  info.world_size = 8;
  set_distributed_info(info);
  EXPECT_EQ(*fill_output_name("log.d/run.sonde"), "log.d/run.rank3.sonde");
  EXPECT_EQ(*fill_output_name("log.d/run"), "log.d/run.rank3");
  EXPECT_EQ(*fill_output_name("run-{rank}.sonde"), "run-3.sonde");
  EXPECT_EQ(*fill_output_name(""), "");
}

}  // namespace
}  // namespace sonde
