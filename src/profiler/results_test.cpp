// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A recording gives the same answers in process, from its file, and from an export that is read
// back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/file.h"
#include "profiler/testing/fake_session.h"
#include "sonde/open.h"
#include "sonde/profiler.h"
#include "sonde/record.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;

void work(int items) {
  SONDE_SCOPE("work");
  for (int i = 0; i < items; ++i) {
    SONDE_SCOPE("item");
    const record_function named("item " + std::to_string(i % 3));
  }
}

// Two steps on two threads.
void train_on_two_threads(Profiler& prof) {
  prof.start();
  for (int step = 0; step < 2; ++step) {
    std::thread helper([] { work(5); });
    work(10);
    helper.join();
    prof.step();
  }
  prof.stop();
}

const TableOptions kAll = {.sort_by = "count", .row_limit = -1};

class ProfilerResults : public ::testing::Test {
 protected:
  testing::TempDir dir_;
  testing::CapturedMessages messages_;
};

TEST_F(ProfilerResults, AreTheSameFromMemoryFileAndExport) {
  Profiler prof(
      {.output = dir_.file("run.sonde"), .schedule = schedule({.active = 2, .repeat = 1})});
  train_on_two_threads(prof);
  const std::string in_process = *prof.key_averages().table(kAll);
  ASSERT_TRUE(prof.export_chrome_trace(dir_.file("run.json")));
  ASSERT_TRUE(prof.export_chrome_trace(dir_.file("run.json.gz")));
  ASSERT_TRUE(prof.save(dir_.file("saved.sonde")));
  ASSERT_TRUE(prof.close());
  EXPECT_THAT(in_process, HasSubstr("ProfilerStep*"));
  EXPECT_THAT(in_process, HasSubstr("item 2"));
  for (const char* name : {"run.sonde", "saved.sonde", "run.json", "run.json.gz"}) {
    const Result<Trace> trace = open_trace(dir_.file(name));
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(*function_events(*trace).key_averages().table(kAll), in_process) << name;
  }
}

TEST_F(ProfilerResults, CountEveryCall) {
  Profiler prof({.schedule = schedule({.active = 2, .repeat = 1})});
  train_on_two_threads(prof);
  const KeyAverages averages = prof.key_averages();
  std::uint64_t items = 0;
  for (const EventAverage& row : averages) items += row.key == "item" ? row.count : 0;
  EXPECT_EQ(items, 30u);
  EXPECT_EQ(prof.events().size(), 2u + 4 + 30 + 30);
}

TEST_F(ProfilerResults, BeforeAnythingWasRecordedAreEmptyWithAMessage) {
  const Profiler prof;
  EXPECT_TRUE(prof.events().empty());
  EXPECT_EQ(*prof.key_averages().table(), "");
  EXPECT_EQ(messages_.take().size(), 2u);
  EXPECT_FALSE(prof.export_chrome_trace(dir_.file("x.json")));
  EXPECT_FALSE(read_file(dir_.file("x.json")));
}

TEST_F(ProfilerResults, StacksAreRefusedUnlessTheyWereAskedFor) {
  Profiler prof;
  train_on_two_threads(prof);
  const Result<void> refused = prof.export_stacks(dir_.file("x.stacks"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("with_stack = true"));
  const Result<void> unknown = prof.export_stacks(dir_.file("x.stacks"), "cpu_time");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("self_cuda_time_total"));
}

TEST_F(ProfilerResults, MemoryTimelinesAreRefusedInPyTorchsWords) {
  Profiler neither;
  train_on_two_threads(neither);
  EXPECT_EQ(neither.export_memory_timeline(dir_.file("m.json")).error().message,
            "record_shapes=True, profile_memory=True required for memory profiling.");
  Profiler one({.record = {.record_shapes = true}});
  train_on_two_threads(one);
  EXPECT_EQ(one.export_memory_timeline(dir_.file("m.json")).error().message,
            "profile_memory=True required for memory profiling.");
  EXPECT_FALSE(read_file(dir_.file("m.json")));
}

TEST_F(ProfilerResults, StacksAreWrittenIfTheyWere) {
  Profiler prof({.record = {.with_stack = true}});
  train_on_two_threads(prof);
  EXPECT_TRUE(prof.export_stacks(dir_.file("x.stacks")));
  EXPECT_TRUE(read_file(dir_.file("x.stacks")));
}

}  // namespace
}  // namespace sonde
