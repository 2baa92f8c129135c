// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/demand.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Demand, SaysHowLongAndWhat) {
  const auto demand = demand_from(
      "ACTIVITIES_LOG_FILE=/tmp/a.json\nPROFILE_START_TIME=1700000000000\n"
      "ACTIVITIES_DURATION_MSECS = 250\r\nPROFILE_REPORT_INPUT_SHAPES=true\n"
      "PROFILE_WITH_STACK=false\nACTIVITY_TYPES=cpu_op,kernel\n# nothing\nREQUEST_TRACE_ID=7");
  ASSERT_TRUE(demand) << demand.error().message;
  EXPECT_EQ(demand->file, "/tmp/a.json");
  EXPECT_EQ(demand->start_ms, 1'700'000'000'000);
  EXPECT_EQ(demand->duration_ns, 250'000'000);
  EXPECT_EQ(demand->steps, 0);
  EXPECT_TRUE(demand->record.record_shapes);
  EXPECT_FALSE(demand->record.with_stack);
}

TEST(Demand, LastsHalfASecondUnlessItSaysOtherwise) {
  EXPECT_EQ(demand_from("")->duration_ns, 500'000'000);
  EXPECT_EQ(demand_from("ACTIVITIES_DURATION_SECS=2\n")->duration_ns, 2'000'000'000);
}

TEST(Demand, CountsStepsOnlyIfItSaysWithWhichToBegin) {
  EXPECT_EQ(demand_from("ACTIVITIES_ITERATIONS=3\n")->steps, 0);
  EXPECT_EQ(demand_from("PROFILE_START_ITERATION=-1\nACTIVITIES_ITERATIONS=3\n")->steps, 0);
  const auto demand = demand_from(
      "PROFILE_START_ITERATION=10\nPROFILE_START_ITERATION_ROUNDUP=5\nACTIVITIES_ITERATIONS=3\n");
  EXPECT_EQ(demand->steps, 3);
  EXPECT_EQ(demand->first_step, 10);
  EXPECT_EQ(demand->multiple_of, 5);
}

TEST(Demand, NumbersThatAreNoneAreRefused) {
  for (const char* const text :
       {"ACTIVITIES_DURATION_MSECS=soon\n", "ACTIVITIES_DURATION_MSECS=-1\n",
        "ACTIVITIES_DURATION_MSECS=0\n", "ACTIVITIES_DURATION_SECS=99999999999999999999\n",
        "ACTIVITIES_ITERATIONS=\n", "PROFILE_START_TIME=1e3\n",
        "PROFILE_START_TIME=9007199254740992\n"})
    EXPECT_FALSE(demand_from(text)) << text;
}

TEST(Demand, FilesHaveTheProcessInTheirNames) {
  const auto file = [](const std::string& name) { return demand_file({.file = name}, 42); };
  EXPECT_EQ(file("/x/a.json"), "/x/a_42.json");
  EXPECT_EQ(file("/x/a.json.gz"), "/x/a_42.json.gz");
  EXPECT_EQ(file("/x.json.d/a"), "/x.json.d/a_42.json");
  EXPECT_EQ(file(""), "/tmp/libkineto_activities_42.json");
}

}  // namespace
}  // namespace sonde
