// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a profiler writes about its cycles: metadata, trace ids, file names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>

#include "base/json.h"
#include "collect/distributed.h"
#include "profiler/cycle_recorder.h"
#include "profiler/testing/fake_session.h"
#include "sonde/profiler.h"

namespace sonde {
namespace {

using testing::CapturedMessages;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::SessionLog;

class ProfilerMetadata : public ::testing::Test {
 protected:
  ~ProfilerMetadata() override { reset_distributed_info(); }

  ProfilerOptions options() {
    ProfilerOptions result;
    result.record.activities = {Activity::Cpu};
    // Two cycles: step 0 and step 1.
    result.schedule = [](std::int64_t) { return ProfilerAction::RecordAndSave; };
    return result;
  }
  Profiler profiler(ProfilerOptions options) {
    return ProfilerMaker::make(std::move(options), testing::fake_hooks(log_));
  }

  std::shared_ptr<SessionLog> log_ = std::make_shared<SessionLog>();
  CapturedMessages messages_;
};

TEST_F(ProfilerMetadata, SaysWhichFlagsAreOn) {
  ProfilerOptions flags = options();
  flags.record.record_shapes = flags.record.profile_memory = flags.record.with_stack = true;
  flags.record.with_flops = flags.record.with_modules = true;
  Profiler prof = profiler(std::move(flags));
  prof.start();
  for (const char* flag :
       {"profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"}) {
    EXPECT_EQ(log_->metadata[flag], "1") << flag;
  }
}

TEST_F(ProfilerMetadata, KeepsSilentAboutFlagsThatAreOff) {
  Profiler prof = profiler(options());
  prof.start();
  for (const char* flag :
       {"profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"}) {
    EXPECT_EQ(log_->metadata.count(flag), 0u) << flag;
  }
}

TEST_F(ProfilerMetadata, ComesInPyTorchsOrder) {
  DistributedInfo info;
  info.rank = 1;
  info.world_size = 2;
  set_distributed_info(info);
  ProfilerOptions flags = options();
  flags.record.record_shapes = flags.record.with_stack = true;
  Profiler prof = profiler(std::move(flags));
  ASSERT_TRUE(prof.preset_metadata_json("mine", "{}"));
  prof.start();
  EXPECT_THAT(log_->metadata_order,
              ElementsAre("trace_id", "with_stack", "record_shapes", "distributedInfo", "mine"));
  EXPECT_EQ(log_->metadata["distributedInfo"], R"({"backend": "", "rank": 1, "world_size": 2})");
}

TEST_F(ProfilerMetadata, EscapesTextWhateverItHolds) {
  Profiler prof = profiler(options());
  prof.start();
  prof.add_metadata("note", "say \"hi\"\\\n");
  EXPECT_EQ(log_->metadata["note"], R"("say \"hi\"\\\n")");
}

TEST_F(ProfilerMetadata, TakesJsonAsItIs) {
  Profiler prof = profiler(options());
  prof.start();
  ASSERT_TRUE(prof.add_metadata_json("config", R"({"lr": 0.1})"));
  EXPECT_EQ(log_->metadata["config"], R"({"lr": 0.1})");
}

TEST_F(ProfilerMetadata, RefusesWhatIsNotJson) {
  Profiler prof = profiler(options());
  prof.start();
  const Result<void> added = prof.add_metadata_json("config", R"({"lr": 0.1)");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::Invalid);
  EXPECT_THAT(added.error().message, HasSubstr("metadata config: "));
  EXPECT_FALSE(prof.preset_metadata_json("config", "NaN"));
  EXPECT_EQ(log_->metadata.count("config"), 0u);
  EXPECT_TRUE(prof.status()) << "bad metadata must not end the recording";
}

TEST_F(ProfilerMetadata, IsKeptForTheFileIfItComesEarly) {
  Profiler prof = profiler(options());
  prof.add_metadata("early", "bird");
  EXPECT_EQ(log_->metadata.count("early"), 0u);
  prof.start();
  EXPECT_EQ(log_->metadata["early"], "\"bird\"");
}

TEST_F(ProfilerMetadata, IsRepeatedForEveryCycleIfPreset) {
  Profiler prof = profiler(options());
  ASSERT_TRUE(prof.preset_metadata_json("mine", "1"));
  ASSERT_TRUE(prof.preset_metadata_json("mine", "2"));
  prof.start();
  EXPECT_EQ(log_->metadata["mine"], "2");
  log_->metadata.clear();
  prof.step();
  EXPECT_EQ(log_->metadata["mine"], "2");
}

TEST_F(ProfilerMetadata, TellsTheJobFromTheEnvironmentAndLetsTheUserWin) {
  setenv("PT_PROFILER_JOB_NAME", "night \"run\"", 1);
  setenv("PT_PROFILER_JOB_VERSION", "3", 1);
  Profiler prof = profiler(options());
  prof.add_metadata("PT_PROFILER_JOB_VERSION", "4");
  prof.start();
  unsetenv("PT_PROFILER_JOB_NAME");
  unsetenv("PT_PROFILER_JOB_VERSION");
  EXPECT_EQ(log_->metadata["PT_PROFILER_JOB_NAME"], R"("night \"run\"")");
  EXPECT_EQ(log_->metadata["PT_PROFILER_JOB_VERSION"], "\"4\"");
}

TEST_F(ProfilerMetadata, HasARandomTraceIdForEachCycle) {
  Profiler prof = profiler(options());
  EXPECT_EQ(prof.trace_id(), "");
  prof.start();
  const std::string first = prof.trace_id();
  EXPECT_THAT(first, MatchesRegex("[0-9A-F]{32}"));
  EXPECT_EQ(log_->metadata["trace_id"], json_string(first));
  prof.step();
  EXPECT_NE(prof.trace_id(), first);
  EXPECT_EQ(log_->metadata["trace_id"], json_string(prof.trace_id()));
}

TEST_F(ProfilerMetadata, AsksForATraceIdOnceACycle) {
  int calls = 0;
  ProfilerOptions own = options();
  own.custom_trace_id_callback = [&] { return "id-" + std::to_string(calls++); };
  Profiler prof = profiler(std::move(own));
  EXPECT_EQ(calls, 0);
  prof.start();
  EXPECT_EQ(prof.trace_id(), "id-0");
  prof.step();
  EXPECT_EQ(prof.trace_id(), "id-1");
  EXPECT_EQ(calls, 2);
}

TEST_F(ProfilerMetadata, TakesANewTraceIdCallbackFromTheNextCycle) {
  ProfilerOptions accumulating = options();
  accumulating.acc_events = true;
  Profiler prof = profiler(std::move(accumulating));
  prof.start();
  const std::string first = prof.trace_id();
  prof.set_custom_trace_id_callback([] { return std::string("mine"); });
  EXPECT_EQ(prof.trace_id(), first);
  prof.step();
  EXPECT_EQ(prof.trace_id(), "mine");
}

TEST_F(ProfilerMetadata, FallsBackToARandomTraceIdWhereTheCallbackThrows) {
  ProfilerOptions throwing = options();
  throwing.custom_trace_id_callback = []() -> std::string {
    throw std::runtime_error("none left");
  };
  Profiler prof = profiler(std::move(throwing));
  prof.start();
  EXPECT_EQ(prof.trace_id().size(), 32u);
  EXPECT_THAT(messages_.take(), ElementsAre(HasSubstr("none left")));
}

TEST(CyclePath, PutsTheNumberBeforeTheSuffix) {
  EXPECT_EQ(cycle_path("run.sonde", 3), "run.3.sonde");
  EXPECT_EQ(cycle_path("a.b/run.sonde", 0), "a.b/run.0.sonde");
}

TEST(CyclePath, PutsTheNumberAtTheEndWhereThereIsNoSuffix) {
  EXPECT_EQ(cycle_path("run", 3), "run.3");
  EXPECT_EQ(cycle_path("a.b/run", 3), "a.b/run.3");
  EXPECT_EQ(cycle_path("a/.hidden", 3), "a/.hidden.3");
}

TEST(CyclePath, FillsTheFieldWhereverItStands) {
  EXPECT_EQ(cycle_path("{cycle}/run_{cycle}.{rank}.sonde", 12), "12/run_12.{rank}.sonde");
}

TEST(CyclePath, LeavesAnUnnamedFileUnnamed) {
  EXPECT_EQ(cycle_path("", 3), "");
}

}  // namespace
}  // namespace sonde
