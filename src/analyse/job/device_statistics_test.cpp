// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ranks did and what their devices ran, the latter with HTA's definitions.

#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/job.h"

namespace sonde {
namespace {

using testing::OpTrace;

void launched(OpTrace& t, std::int64_t number, Nanos call_us, Nanos begin_us, Nanos end_us,
              std::string_view kernel) {
  t.runtime("cudaLaunchKernel", call_us, call_us + 2).correlation(number);
  t.kernel(kernel, begin_us, end_us).correlation(number);
}

RankSummary summarised(OpTrace& t, std::int32_t rank = 0) {
  std::vector<RankSummary> ranks = summarise_ranks(t.build());
  EXPECT_EQ(ranks.size(), 1U);
  if (ranks.empty()) return {};
  ranks.front().rank = rank;
  ranks.front().source = "rank" + std::to_string(rank);
  return ranks.front();
}

// call    0  3                       50 53
// device        a a a a a b b b b . . . . . c . . . d
//               5       15        35        60      200
RankSummary four_kernels() {
  OpTrace t;
  launched(t, 1, 0, 5, 15, "a");
  launched(t, 2, 3, 15, 35, "a");
  launched(t, 3, 50, 60, 61, "b");
  launched(t, 4, 53, 200, 210, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  return summarised(t);
}

TEST(DeviceStatistics, AddUpTheRunsOfEachKernel) {
  const RankSummary rank = four_kernels();
  ASSERT_EQ(rank.kernels.size(), 3U);
  const RankKernel& a = rank.kernels.front();
  EXPECT_EQ(rank.text(a.name), "a");
  EXPECT_EQ(a.type, WorkType::Computation);
  EXPECT_EQ(a.count, 2U);
  EXPECT_EQ(a.sum_ns, 30'000);
  EXPECT_EQ(a.least_ns, 10'000);
  EXPECT_EQ(a.most_ns, 20'000);
  EXPECT_EQ(a.squares, 5e8);
  EXPECT_EQ(rank.kernels[1].type, WorkType::Communication);
}

TEST(DeviceStatistics, DivideTheGapsOfAStreamByTheirCause) {
  const RankSummary rank = four_kernels();
  ASSERT_EQ(rank.streams.size(), 1U);
  EXPECT_EQ(rank.streams[0].host_wait_ns, 25'000);    // launched at 50, when it was idle
  EXPECT_EQ(rank.streams[0].other_idle_ns, 139'000);  // launched at 53, in time
  EXPECT_EQ(rank.streams[0].kernel_wait_ns, 0);
}

TEST(DeviceStatistics, CountTheQueueAtEachChange) {
  const RankSummary rank = four_kernels();
  ASSERT_EQ(rank.streams.size(), 1U);
  EXPECT_EQ(rank.streams[0].changes, 8U);
  EXPECT_EQ(rank.streams[0].queued, 1 + 2 + 1 + 0 + 1 + 2 + 1 + 0);
  EXPECT_EQ(rank.streams[0].most_queued, 2);
  EXPECT_EQ(rank.streams[0].least_queued, 0);
  EXPECT_EQ(rank.streams[0].full_ns, 0);
}

TEST(DeviceStatistics, KnowHowLongAQueueWasFull) {
  OpTrace t;
  for (std::int64_t i = 0; i < 1030; ++i)
    launched(t, i + 1, 3 * i, 10'000 + 10 * i, 10'005 + 10 * i, "a");
  const RankSummary rank = summarised(t);
  // From the 1,024th call to the begin of the seventh kernel.
  EXPECT_EQ(rank.streams.at(0).full_ns, (10'000 + 10 * 6 - 3 * 1023) * 1000);
}

TEST(DeviceStatistics, CountLaunchesThatAreOdd) {
  const RankLaunches launches = four_kernels().launches;
  EXPECT_EQ(launches.count, 4U);
  EXPECT_EQ(launches.call_ns, 8'000);
  EXPECT_EQ(launches.device_ns, 41'000);
  EXPECT_EQ(launches.delay_ns, (3 + 10 + 8 + 145) * 1000);
  EXPECT_EQ(launches.short_kernels, 1U);
  EXPECT_EQ(launches.slow_calls, 0U);
  EXPECT_EQ(launches.delayed, 1U);
}

TEST(DeviceStatistics, SayWhichTypesRanTogether) {
  OpTrace t;
  t.kernel("a", 0, 10);
  t.kernel("ncclDevKernel_AllReduce", 6, 20);
  t.on_stream("Memcpy HtoD (Pinned -> Device)", SpanKind::GpuMemcpy, 18, 30);
  const RankSummary rank = summarised(t);
  EXPECT_EQ(rank.running_ns[1], 6'000);
  EXPECT_EQ(rank.running_ns[1 | 2], 4'000);
  EXPECT_EQ(rank.running_ns[2], 8'000);
  EXPECT_EQ(rank.running_ns[2 | 4], 2'000);
  EXPECT_EQ(rank.running_ns[4], 10'000);
}

TEST(DeviceStatistics, GiveTheBandwidthOfCopiesOverTime) {
  OpTrace t;
  t.kernel("a", 0, 1);
  const SpanId copy =
      t.on_stream("Memcpy HtoD (Pinned -> Device)", SpanKind::GpuMemcpy, 10, 20).span();
  t.builder().copies().push_back({.span = copy, .bytes = 100'000});
  t.kernel("a", 99, 100);
  const RankSummary rank = summarised(t);
  ASSERT_EQ(rank.copies.size(), 1U);
  const RankCopies& copies = rank.copies.front();
  EXPECT_EQ(rank.text(copies.name), "Memcpy HtoD");
  EXPECT_EQ(copies.bytes, 100'000);
  EXPECT_DOUBLE_EQ(copies.most, 10);
  ASSERT_EQ(copies.series.size(), kSeriesParts);
  EXPECT_DOUBLE_EQ(copies.series[0], 0);  // the recording lasts a millisecond
  EXPECT_NEAR(copies.series[1], 10, 1e-6);
  EXPECT_DOUBLE_EQ(copies.series[2], 0);
}

TEST(DeviceStatistics, CountWhatOutermostOperatorsLaunch) {
  OpTrace t;
  for (const Nanos at : {0, 1000}) {
    t.op("aten::linear", at, at + 100);
    t.op("aten::addmm", at + 1, at + 90);
    for (std::int64_t i = 0; i < 3; ++i)
      launched(t, at + i + 1, at + 10 + 5 * i, at + 200 + 10 * i, at + 205 + 10 * i,
               i == 1 ? "b" : "a");
  }
  const RankSummary rank = summarised(t);
  ASSERT_EQ(rank.sequences.size(), 1U);
  const RankSequence& sequence = rank.sequences.front();
  EXPECT_EQ(rank.text(sequence.op), "aten::linear");
  EXPECT_EQ(sequence.count, 2U);
  ASSERT_EQ(sequence.kernels.size(), 3U);
  EXPECT_EQ(rank.text(sequence.kernels[1]), "b");
  EXPECT_EQ(sequence.device_ns, 30'000);
  EXPECT_EQ(sequence.host_ns, 200'000);
}

TEST(DeviceStatistics, ComeBackFromTheBytesOfASummary) {
  const RankSummary before = four_kernels();
  const Result<RankSummary> after = decode_rank_summary(encode(before), "x");
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(encode(*after), encode(before));
  EXPECT_EQ(after->kernels.size(), 3U);
  EXPECT_EQ(after->launches.delay_ns, before.launches.delay_ns);
}

Nanos total_of(const RankSummary& rank, std::string_view name, Nanos from_ns, Nanos to_ns) {
  Nanos sum_ns = 0;
  for (const RankActivity& one : rank.activities)
    if (rank.text(one.name) == name && one.begin_ns >= from_ns && one.end_ns <= to_ns)
      sum_ns += one.length_ns();
  return sum_ns;
}

// A step has 30,000 kernels of two kinds in turns; in the summary it has two activities of them.
TEST(RankActivities, OfALongRecordingAreJoinedWithinSteps) {
  OpTrace t;
  for (std::int64_t step = 0; step < 2; ++step) {
    t.step(step, step * 1'000'000, (step + 1) * 1'000'000);
    for (std::int64_t i = 0; i < 30'000; ++i)
      t.kernel(i % 2 == 0 ? "a" : "b", step * 1'000'000 + i * 30,
               step * 1'000'000 + i * 30 + (i % 2 == 0 ? 10 : 15));
  }
  const RankSummary rank = summarised(t);
  EXPECT_LT(rank.activities.size(), 20U);
  EXPECT_EQ(total_of(rank, "a", 0, 1'000'000'000), 150'000'000);
  EXPECT_EQ(total_of(rank, "b", 1'000'000'000, 2'000'000'000), 225'000'000);
  Nanos before_ns = 0;
  for (const RankActivity& one : rank.activities) {
    EXPECT_GE(one.begin_ns, before_ns);
    before_ns = one.end_ns;
  }
}

Nanos unmarked_until(const RankSummary& rank, Nanos until_ns) {
  Nanos sum_ns = 0;
  for (const RankActivity& one : rank.activities)
    if (one.kind == ActivityKind::Unmarked && one.end_ns <= until_ns) sum_ns += one.length_ns();
  return sum_ns;
}

// main thread   |--a--|     |--b--|
TEST(RankActivities, CountWhatTheHostDoesOutsideAllSpans) {
  OpTrace t;
  t.op("a", 0, 10);
  t.op("b", 30, 40);
  EXPECT_EQ(unmarked_until(summarised(t), 40'000), 20'000);
}

// Only the device was recorded: why it was idle is not known.
TEST(RankActivities, CountTheTimeOfAHostThatWasNotRecorded) {
  OpTrace t;
  t.kernel("a", 0, 10);
  t.kernel("b", 50, 60);
  EXPECT_EQ(unmarked_until(summarised(t), 60'000), 40'000);
}

TEST(RankSummary, NumbersStepsOnWhereNumbersBeginAgain) {
  OpTrace t;
  std::int64_t at_us = 0;
  for (const std::int64_t number : {1, 2, 0, 1}) {
    t.step(number, at_us, at_us + 10);
    at_us += 10;
  }
  std::vector<std::int64_t> numbers;
  for (const RankStep& step : summarised(t).steps) numbers.push_back(step.number);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 2, 3, 4}));
}

// host     |0-10|10-20|
// device     ##1###20-45##2##60
TEST(RankSummary, EndsAStepWhenTheDeviceHasDoneWhatItLaunched) {
  OpTrace t;
  t.step(1, 0, 10);
  launched(t, 1, 2, 10, 45, "a");
  t.step(2, 10, 20);
  launched(t, 2, 12, 45, 60, "b");
  const RankSummary rank = summarised(t);
  ASSERT_EQ(rank.steps.size(), 2U);
  EXPECT_EQ(rank.steps[0].begin_ns, 0);
  EXPECT_EQ(rank.steps[0].end_ns, 45'000);
  EXPECT_EQ(rank.steps[1].begin_ns, 45'000);
  EXPECT_EQ(rank.steps[1].end_ns, 60'000);
}

TEST(RankSummary, HasTheNumberOfTheJob) {
  OpTrace t;
  t.op("a", 0, 10);
  TraceBuilder& builder = t.builder();
  builder.metadata().push_back({ProcessId(0), builder.intern("job"),
                                builder.intern(R"({"launcher": "slurm", "id": "4711"})")});
  EXPECT_EQ(summarised(t).job, "4711");
}

// The thread of the backward pass launches more than the main thread, which has no steps.
TEST(RankActivities, AreThoseOfTheThreadThatWaitsForTheBackwardPass) {
  OpTrace t;
  t.annotation("load_batch", 0, 20);
  t.op("aten::linear", 20, 30);
  const TrackId backward = t.thread(101);
  for (std::int64_t i = 0; i < 10; ++i) {
    t.span("autograd::engine::evaluate_function: MmBackward0", SpanKind::CpuOp, backward,
           40 + 10 * i, 48 + 10 * i);
    t.span("cudaLaunchKernel", SpanKind::CudaRuntime, backward, 41 + 10 * i, 43 + 10 * i);
  }
  EXPECT_EQ(total_of(summarised(t), "load_batch", 0, 1'000'000), 20'000);
}

TEST(DeviceStatistics, OfAllRanksAreAddedUpByName) {
  std::vector<RankSummary> ranks;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    OpTrace t;
    launched(t, 1, 0, 5, 15 + 10 * rank, "a");
    if (rank == 1) launched(t, 2, 50, 60, 65, "b");
    ranks.push_back(summarised(t, rank));
  }
  const Result<JobReport> job = analyse_job(std::move(ranks));
  ASSERT_TRUE(job) << job.error().message;
  ASSERT_EQ(job->kernels.size(), 2U);
  const JobKernel& a = job->kernels.front();
  EXPECT_EQ(job->text(a.all.name), "a");
  EXPECT_EQ(a.all.count, 3U);
  EXPECT_EQ(a.all.sum_ns, 60'000);
  EXPECT_EQ(a.all.most_ns, 30'000);
  ASSERT_EQ(a.ranks.size(), 3U);
  EXPECT_EQ(a.ranks[2].second.sum_ns, 30'000);
  EXPECT_EQ(job->text(job->kernels[1].all.name), "b");
  EXPECT_EQ(job->kernels[1].ranks.size(), 1U);
  EXPECT_EQ(job->running_ns[1], 65'000);
}

}  // namespace
}  // namespace sonde
