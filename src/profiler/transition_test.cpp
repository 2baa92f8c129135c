// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "profiler/transition.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde {
namespace {

using enum ProfilerAction;

constexpr ProfilerAction kActions[] = {None, Warmup, Record, RecordAndSave, DeviceStopped};

std::string text(const Transition& transition) {
  if (!transition.reachable) return "unreachable";
  std::string result = transition.warning != nullptr ? "warn " : "";
  for (const Phase phase : transition) {
    constexpr const char* kNames[] = {"prepare ", "start ", "stop ", "ready "};
    result += kNames[static_cast<int>(phase)];
  }
  if (!result.empty()) result.pop_back();
  return result;
}

TEST(Transition, FollowsPyTorchsTable) {
  constexpr const char* kExpected[5][6] = {
      {"", "prepare", "prepare start", "prepare start", "unreachable", ""},
      {"warn start stop", "", "start", "start", "start stop ready", "start stop"},
      {"warn stop", "warn stop", "", "", "stop ready", "stop ready"},
      {"stop ready", "stop ready prepare", "stop ready prepare start", "stop ready prepare start",
       "unreachable", "stop ready"},
      {"", "prepare", "prepare start", "prepare start", "", ""},
  };
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      EXPECT_EQ(text(transition(kActions[from], kActions[to])), kExpected[from][to])
          << from << " to " << to;
    }
    EXPECT_EQ(text(exit_transition(kActions[from])), kExpected[from][5]) << from << " to exit";
  }
}

TEST(Transition, NamesWhatIsIncorrect) {
  EXPECT_STREQ(transition(Warmup, None).warning, "Incorrect schedule: WARMUP followed by NONE");
  EXPECT_STREQ(transition(Record, None).warning, "Incorrect schedule: RECORD followed by NONE");
  EXPECT_STREQ(transition(Record, Warmup).warning, "Incorrect schedule: RECORD followed by WARMUP");
}

TEST(SettleAction, FollowsTheScheduleWhileTheDeviceRecords) {
  for (const ProfilerAction previous : {None, Warmup, Record, RecordAndSave}) {
    for (const ProfilerAction scheduled : {None, Warmup, Record, RecordAndSave}) {
      EXPECT_EQ(settle_action(previous, previous, scheduled, false), scheduled);
    }
  }
}

TEST(SettleAction, EntersDeviceStoppedOnlyInsideACycle) {
  for (const ProfilerAction scheduled : {Warmup, Record, RecordAndSave}) {
    EXPECT_EQ(settle_action(Warmup, Warmup, scheduled, true), DeviceStopped);
    EXPECT_EQ(settle_action(Record, Record, scheduled, true), DeviceStopped);
    EXPECT_EQ(settle_action(None, None, scheduled, true), scheduled);
    EXPECT_EQ(settle_action(RecordAndSave, RecordAndSave, scheduled, true), scheduled);
  }
  EXPECT_EQ(settle_action(Warmup, Warmup, None, true), None);
  EXPECT_EQ(settle_action(Record, Record, None, true), None);
}

TEST(SettleAction, LeavesDeviceStoppedAtTheCyclesEnd) {
  for (const ProfilerAction scheduled : {None, Warmup, Record, RecordAndSave}) {
    EXPECT_EQ(settle_action(DeviceStopped, RecordAndSave, scheduled, true), scheduled);
  }
  EXPECT_EQ(settle_action(DeviceStopped, Record, None, true), None);
  EXPECT_EQ(settle_action(DeviceStopped, Warmup, Record, false), DeviceStopped);
  EXPECT_EQ(settle_action(DeviceStopped, Record, RecordAndSave, false), DeviceStopped);
}

}  // namespace
}  // namespace sonde
