// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/run_options.h"

#include <gtest/gtest.h>

#include <map>

namespace sonde {
namespace {

Result<RunOptions> through_environment(const RunOptions& options,
                                       const std::map<std::string, std::string>& more = {}) {
  std::map<std::string, std::string> variables = more;
  for (const auto& [name, value] : to_environment(options)) variables.emplace(name, value);
  return run_options_from([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(RunOptions, ArriveAsTheyWereSent) {
  RunOptions sent;
  sent.output = "/tmp/a {pid}.sonde";
  sent.execution_trace = "/tmp/a {pid}.et.json";
  sent.budget_bytes = 12345;
  sent.policy = BufferPolicy::Ring;
  sent.record.record_shapes = sent.record.with_modules = true;
  sent.record.gpu_level = GpuLevel::Full;
  sent.paused = true;
  sent.captures = true;
  sent.keep_command_line = true;
  sent.started_ns = 1;
  sent.after_ns = 2;
  sent.for_ns = 3;
  sent.from_step = 4;
  sent.steps = 5;
  sent.signal_start = 10;
  sent.signal_stop = 12;
  sent.dump = {.slow_step_percent = 300, .hang_ns = 6, .signal = 14, .most = 7, .ring_ns = 8};
  sent.report = "/tmp/report";
  sent.adapters = {"/a.so", "/b.so"};
  const auto arrived = through_environment(sent);
  ASSERT_TRUE(arrived) << arrived.error().message;
  EXPECT_EQ(to_environment(*arrived), to_environment(sent));
  EXPECT_TRUE(arrived->record.record_shapes);
  EXPECT_FALSE(arrived->record.profile_memory);
  EXPECT_EQ(arrived->record.gpu_level, GpuLevel::Full);
  EXPECT_EQ(arrived->adapters, sent.adapters);
  EXPECT_TRUE(arrived->follow_children);
  EXPECT_TRUE(arrived->keep_command_line);
}

TEST(RunOptions, RefuseNumbersThatAreNone) {
  const auto arrived = through_environment({}, {{"SONDE_RUN_BUDGET", "much"}});
  ASSERT_FALSE(arrived);
  EXPECT_EQ(arrived.error().message, "SONDE_RUN_BUDGET: \"much\" is not a number");
}

}  // namespace
}  // namespace sonde
