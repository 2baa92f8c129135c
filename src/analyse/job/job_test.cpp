// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analyse/job/testing/drawn_job.h"
#include "analyse/job/testing/made_job.h"

namespace sonde {
namespace {

using testing::DrawnJob;
using testing::MadeJob;
using testing::MadeJobOptions;

JobReport analysed(std::vector<RankSummary> ranks, const JobOptions& options = {}) {
  Result<JobReport> job = analyse_job(std::move(ranks), options);
  EXPECT_TRUE(job) << job.error().message;
  return job ? *std::move(job) : JobReport();
}

void cut_first_calls(RankSummary& rank, std::size_t calls) {
  const Nanos from_ns = rank.collectives[calls - 1].end_ns;
  rank.collectives.erase(rank.collectives.begin(),
                         rank.collectives.begin() + static_cast<std::ptrdiff_t>(calls));
  std::vector<RankActivity> kept;
  for (RankActivity one : rank.activities) {
    if (one.begin_ns < from_ns) continue;
    if (one.kind == ActivityKind::Collective) one.name -= static_cast<std::uint32_t>(calls);
    kept.push_back(one);
  }
  rank.activities = kept;
  // A step that began before is not in the trace.
  std::size_t gone = 0;
  while (gone < rank.steps.size() && rank.steps[gone].begin_ns < from_ns) ++gone;
  rank.steps.erase(rank.steps.begin(), rank.steps.begin() + static_cast<std::ptrdiff_t>(gone));
  for (RankCollective& one : rank.collectives)
    one.step =
        one.step < gone ? RankCollective::kNoStep : one.step - static_cast<std::uint32_t>(gone);
}

TEST(Job, NamesTheRankThatIsLateAndWhatItDid) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  const JobReport job = analysed(made.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 5);
  EXPECT_EQ(job.verdict->name, "load_batch");
  EXPECT_EQ(job.verdict->cause, "data_loading");
  EXPECT_NEAR(static_cast<double>(job.verdict->per_step_ns), 20e6, 1.5e6);
  EXPECT_EQ(job.verdict->steps, 10U);
}

TEST(Job, NamesTheCauseAlthoughOthersDoTheirWorkWithinAnotherRange) {
  DrawnJob drawn(8);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int step = 0; step < 8; ++step) {
    drawn.begin_step();
    drawn.work(5, 3'000'000, "load_batch", ActivityKind::Range);
    for (std::int32_t r = 0; r < 8; ++r)
      drawn.work(r, 3'000'000, "mm", ActivityKind::Kernel, r % 2 == 0 ? "backward" : "forward");
    drawn.meet(all);
    drawn.end_step();
  }
  const JobReport job = analysed(drawn.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 5);
  EXPECT_EQ(job.verdict->name, "load_batch");
}

TEST(Job, NamesNobodyWhereArrivalsOnlyVary) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    MadeJob made({.ranks = 8, .ranks_per_host = 1, .jitter_ns = 500e3, .seed = seed});
    EXPECT_FALSE(analysed(made.summaries()).verdict) << "seed " << seed;
  }
}

TEST(Job, NamesNobodyAmongTwoRanksThatTakeTurns) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    MadeJob made({.ranks = 2, .ranks_per_host = 1, .jitter_ns = 2e6, .seed = seed});
    EXPECT_FALSE(analysed(made.summaries()).verdict) << "seed " << seed;
  }
}

TEST(Job, FindsTheSlowerOfTwoRanks) {
  MadeJob made({.ranks = 2, .ranks_per_host = 1});
  made.delay(1, 10e6, "aten::mm", ActivityKind::Kernel);
  const JobReport job = analysed(made.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 1);
  EXPECT_EQ(job.verdict->cause, "kernel");
}

TEST(Job, FindsAPauseThatComesNowAndThen) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1, .steps = 12});
  made.delay(3, 60e6, "gc.collect", ActivityKind::Range,
             [](std::int32_t step) { return step % 5 == 2; });
  const JobReport job = analysed(made.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 3);
  EXPECT_EQ(job.verdict->cause, "gc");
  EXPECT_EQ(job.verdict->steps, 2U);
}

TEST(Job, NamesAHostWhoseRanksAreAllLate) {
  MadeJob made({.ranks = 16, .ranks_per_host = 4, .names_hosts = true});
  for (const std::int32_t rank : {4, 5, 6, 7}) made.delay(rank, 8e6, "slow", ActivityKind::Kernel);
  const JobReport job = analysed(made.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->host, "node1");
  EXPECT_EQ(job.verdict->ranks.size(), 4U);
}

TEST(Job, ReplaysWithoutEachHostAndWithUsualWork) {
  MadeJob made({.ranks = 16, .ranks_per_host = 4, .names_hosts = true});
  for (const std::int32_t rank : {4, 5, 6, 7}) made.delay(rank, 8e6, "slow", ActivityKind::Kernel);
  const JobReport job = analysed(made.summaries());
  ASSERT_TRUE(job.replay) << job.replay_refused;
  ASSERT_EQ(job.replay->without_hosts.size(), 4U);
  const auto saved = [&](Nanos step_ns) {
    return static_cast<double>(job.replay->replayed_step_ns - step_ns);
  };
  EXPECT_NEAR(saved(job.replay->without_hosts[1].step_ns), 8e6, 1e6);
  EXPECT_LT(saved(job.replay->without_hosts[0].step_ns), 1e6);
  EXPECT_GT(saved(job.replay->usual_work_step_ns), 7e6);
  EXPECT_LT(saved(job.replay->usual_transfers_step_ns), 1e6);
}

TEST(Job, NamesNoCauseThatExplainsTooLittle) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 10e6, "one", ActivityKind::Range);
  made.delay(5, 10e6, "two", ActivityKind::Kernel);
  const JobReport job = analysed(made.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 5);
  EXPECT_EQ(job.verdict->cause, "");
  ASSERT_GE(job.verdict->causes.size(), 2U);
  EXPECT_NEAR(job.verdict->causes[0].share, 0.5, 0.1);
  EXPECT_NEAR(job.verdict->causes[1].share, 0.5, 0.1);
}

TEST(Job, GivesTheSameAnswerInAnyOrderOfFiles) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  std::vector<RankSummary> ranks = made.summaries();
  const JobReport forward = analysed(ranks);
  std::reverse(ranks.begin(), ranks.end());
  const JobReport backward = analysed(ranks);
  ASSERT_TRUE(forward.verdict && backward.verdict);
  EXPECT_EQ(forward.verdict->total_ns, backward.verdict->total_ns);
  for (std::size_t i = 0; i < forward.clocks.size(); ++i)
    EXPECT_EQ(forward.clocks[i].offset_ns, backward.clocks[i].offset_ns);
}

TEST(Job, MatchesRecordingsThatBeginAtDifferentCalls) {
  for (const bool has_steps : {true, false}) {
    MadeJob made({.ranks = 8, .ranks_per_host = 1, .has_steps = has_steps});
    made.delay(5, 20e6, "load_batch");
    std::vector<RankSummary> ranks = made.summaries();
    cut_first_calls(ranks[3], 3);
    cut_first_calls(ranks[6], 5);
    const JobReport job = analysed(ranks);
    ASSERT_TRUE(job.verdict) << has_steps;
    EXPECT_EQ(job.verdict->rank, 5);
    EXPECT_EQ(job.contradictions, 0U);
  }
}

TEST(Job, AnswersWithoutTheMissingRanks) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  std::vector<RankSummary> ranks = made.summaries();
  ranks.erase(ranks.begin());
  ranks.erase(ranks.begin() + 1);
  const JobReport job = analysed(ranks);
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 5);
  EXPECT_EQ(job.missing, (std::vector<std::int32_t>{0, 2}));
}

TEST(Job, BlamesNobodyForARankThatIsMissing) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  std::vector<RankSummary> ranks = made.summaries();
  ranks.erase(ranks.begin() + 5);
  EXPECT_FALSE(analysed(ranks).verdict);
}

TEST(Job, RefusesTheFilesOfSeveralJobs) {
  MadeJob made({.ranks = 4, .ranks_per_host = 1});
  std::vector<RankSummary> ranks = made.summaries();
  std::vector<RankSummary> other = ranks;
  for (RankSummary& one : other) one.source = "other." + one.source;
  ranks.insert(ranks.end(), other.begin(), other.end());
  const Result<JobReport> job = analyse_job(ranks);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().message.find("2 jobs"), std::string::npos) << job.error().message;
}

// Each of many operators on the host takes a little longer on one rank.
TEST(Job, NamesTheHostWhereManySmallThingsTakeLonger) {
  DrawnJob drawn(8);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int step = 0; step < 8; ++step) {
    drawn.begin_step();
    for (std::int32_t r = 0; r < 8; ++r)
      for (const char* const op : {"aten::add", "aten::mul", "aten::view", "aten::copy_"}) {
        const Nanos longer_ns = r == 3 ? 500'000 : 0;
        drawn.work(r, 500'000 + longer_ns, op, ActivityKind::Operator);
        drawn.work(r, 400'000 + longer_ns, "", ActivityKind::Unmarked);
      }
    drawn.meet(all);
    drawn.end_step();
  }
  const JobReport job = analysed(drawn.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 3);
  EXPECT_EQ(job.verdict->cause, "host");
  EXPECT_EQ(job.verdict->name, "all code on the host");
  EXPECT_NEAR(job.verdict->cause_share, 1, 0.01);
}

TEST(Job, KnowsWhichRangesLoadDataAndWhichCollectGarbage) {
  const auto cause_of = [](const std::string& name) {
    MadeJob made({.ranks = 8, .ranks_per_host = 1});
    made.delay(5, 20e6, name);
    const JobReport job = analysed(made.summaries());
    return job.verdict ? job.verdict->cause : "";
  };
  EXPECT_EQ(cause_of("gc_pause"), "gc");
  EXPECT_EQ(cause_of("PythonGC"), "gc");
  EXPECT_EQ(cause_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
            "data_loading");
  EXPECT_EQ(cause_of("fetch_batch"), "data_loading");
  EXPECT_EQ(cause_of("gcn_layer"), "host");
  EXPECT_EQ(cause_of("DistributedDataParallel.forward"), "host");
  EXPECT_EQ(cause_of("batch_target"), "host");
}

// All arrive in time, and then one of two groups takes longer.
TEST(Job, FindsTheGroupWhoseCollectivesAreSlow) {
  DrawnJob drawn(8);
  const std::uint32_t all = drawn.group("0", "world", {0, 1, 2, 3, 4, 5, 6, 7});
  const std::uint32_t first = drawn.group("1", "shard", {0, 1, 2, 3});
  const std::uint32_t second = drawn.group("2", "shard", {4, 5, 6, 7});
  for (int step = 0; step < 8; ++step) {
    drawn.begin_step();
    for (std::int32_t r = 0; r < 8; ++r) drawn.work(r, 5'000'000 + 1'000 * (r * step % 7), "mm");
    drawn.meet(first);
    drawn.meet(second, true, 4'100'000);
    drawn.meet(all);
    drawn.end_step();
  }
  const JobReport job = analysed(drawn.summaries());
  EXPECT_FALSE(job.verdict);
  ASSERT_EQ(job.slow_groups.size(), 1U);
  const JobSlowGroup& slow = job.slow_groups.front();
  EXPECT_EQ(job.groups[slow.group].name, "2");
  EXPECT_EQ(slow.transfer_ns, 4'100'000);
  EXPECT_EQ(slow.others_ns, 100'000);
  EXPECT_EQ(slow.total_ns, 8 * 4'000'000);
}

TEST(Job, StatesTheNoiseOfTheCollectivesInWhichRanksWait) {
  DrawnJob drawn(8);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int step = 0; step < 12; ++step) {
    drawn.begin_step();
    for (std::int32_t r = 0; r < 8; ++r)
      drawn.work(r, 5'000'000 + 1'000'000 * ((r * 5 + step * 3) % 8), "mm");
    drawn.meet(all);
    for (int call = 0; call < 3; ++call) drawn.meet(all, true, 1'000'000);
    drawn.end_step();
  }
  const JobReport job = analysed(drawn.summaries());
  EXPECT_FALSE(job.verdict);
  EXPECT_GT(job.noise_ns, 1'000'000);
}

// Two replicas of two shards each; a shard's collective is queued before that of the replicas.
//
//   rank 0    --mm--|##shard##|.replica.......#|        waits for its shard, and then for rank 2
//   rank 2    --mm--|##shard############|replica|       waits for rank 3: late, but not to blame
//   rank 3    --mm-------------|shard###|replica|
TEST(Job, BlamesNobodyForACollectiveThatFollowsALateOne) {
  DrawnJob drawn(4);
  const std::uint32_t shards[] = {drawn.group("1", "shard", {0, 1}),
                                  drawn.group("2", "shard", {2, 3})};
  const std::uint32_t replicas[] = {drawn.group("3", "replica", {0, 2}),
                                    drawn.group("4", "replica", {1, 3})};
  for (int step = 0; step < 8; ++step) {
    drawn.begin_step();
    for (std::int32_t r = 0; r < 4; ++r) {
      drawn.work(r, 4'900'000 + 1'000 * ((r + step) % 3), "mm");
      if (r == 3) drawn.work(r, 3'000'000, "load_batch", ActivityKind::Range);
    }
    for (const std::uint32_t shard : shards) drawn.meet(shard);
    for (const std::uint32_t replica : replicas) drawn.meet(replica);
    drawn.end_step();
  }
  const JobReport job = analysed(drawn.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->ranks, std::vector<std::int32_t>{3});
  EXPECT_EQ(job.verdict->name, "load_batch");
  EXPECT_TRUE(job.suspects.empty());
}

TEST(Job, NotesThatARecordingBeginsWhenOthersAlreadyWait) {
  DrawnJob drawn(4);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1, 2, 3});
  drawn.work(2, 300'000'000, "", ActivityKind::Unmarked);
  for (int step = 0; step < 4; ++step) {
    drawn.begin_step();
    for (std::int32_t r = 0; r < 4; ++r) drawn.work(r, 4'900'000, "mm");
    drawn.meet(all);
    drawn.end_step();
  }
  std::vector<RankSummary> ranks = drawn.summaries();
  ranks[2].first_ns = ranks[2].steps.front().begin_ns;
  ranks[2].activities.erase(ranks[2].activities.begin());
  const JobReport job = analysed(ranks);
  EXPECT_FALSE(job.verdict);
  ASSERT_EQ(job.notes.size(), 1U);
  EXPECT_EQ(job.notes[0],
            "Rank 2 came to its first collective 300.000 ms after all others, and its recording "
            "begins only 4.900 ms before that: what held it up is not recorded.");
}

// The file of rank 3 was cut, so that some of its calls are not there.
TEST(Job, AnswersWithoutARankWhoseFileWasCut) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  std::vector<RankSummary> ranks = made.summaries();
  ranks[3].is_truncated = true;
  for (const std::size_t lost : {30U, 17U, 6U})
    ranks[3].collectives.erase(ranks[3].collectives.begin() + static_cast<std::ptrdiff_t>(lost));
  ranks[3].activities.clear();
  const JobReport job = analysed(ranks);
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 5);
  EXPECT_EQ(job.groups[0].problem, "");
  EXPECT_TRUE(std::any_of(job.notes.begin(), job.notes.end(), [](const std::string& note) {
    return note.starts_with("Rank 3 is left out of group 0: ");
  }));
}

TEST(Job, CountsTheTimeBetweenSteps) {
  DrawnJob drawn(2);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1});
  for (int step = 0; step < 3; ++step) {
    drawn.begin_step();
    for (std::int32_t r = 0; r < 2; ++r) drawn.work(r, 2'900'000, "mm");
    drawn.meet(all);
    drawn.end_step();
    for (std::int32_t r = 0; r < 2; ++r) drawn.work(r, 1'000'000, "", ActivityKind::Unmarked);
  }
  const JobReport job = analysed(drawn.summaries());
  EXPECT_EQ(job.step_ns, 3'000'000);
  EXPECT_EQ(job.total_ns, 3 * 3'000'000 + 2 * 1'000'000);
}

// Without the worst rank, the next one still holds the job up.
TEST(Job, KeepsWhatAnotherRankAlwaysTakesLongerInTheReplay) {
  const auto drawn = [](Nanos first_ns, Nanos second_ns) {
    DrawnJob job(8);
    const std::uint32_t all = job.group("0", "dp", {0, 1, 2, 3, 4, 5, 6, 7});
    for (int step = 0; step < 8; ++step) {
      job.begin_step();
      for (std::int32_t r = 0; r < 8; ++r)
        job.work(r, 8'000'000 + 10'000 * ((r + step) % 5) + (r == 6 ? second_ns : 0), "mm");
      job.work(2, first_ns, "load_batch", ActivityKind::Range);
      job.meet(all);
      job.end_step();
    }
    return job;
  };
  const JobReport job = analysed(drawn(20'000'000, 8'000'000).summaries());
  const auto wanted = static_cast<double>(drawn(0, 8'000'000).now(0)) / 8;
  ASSERT_TRUE(job.verdict && job.replay);
  EXPECT_EQ(job.verdict->rank, 2);
  EXPECT_NEAR(static_cast<double>(job.replay->without_culprits_step_ns), wanted, 0.02 * wanted);
}

TEST(Job, RefusesRecordingsOfJobsWithOtherNumbers) {
  MadeJob made({.ranks = 4, .ranks_per_host = 1});
  std::vector<RankSummary> ranks = made.summaries();
  for (RankSummary& one : ranks) one.job = one.rank < 2 ? "4711" : "4712";
  const Result<JobReport> job = analyse_job(ranks);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().message,
            "these are the files of 2 jobs: 4711 (2 ranks, as in rank0.json), 4712 (2 ranks, as in "
            "rank2.json); name the files of one");
}

TEST(Job, NotesRecordingsThatWereNotMadeAtTheSameTime) {
  MadeJob made({.ranks = 4, .ranks_per_host = 1, .offset_ns = 300e9});
  const JobReport job = analysed(made.summaries());
  ASSERT_EQ(job.notes.size(), 1U);
  EXPECT_NE(job.notes[0].find("not recordings of one run"), std::string::npos) << job.notes[0];
}

TEST(Job, ReplaysItselfAndTheJobWithoutTheCulprit) {
  MadeJob clean({.ranks = 8, .ranks_per_host = 1});
  const JobReport before = analysed(clean.summaries());
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  const JobReport job = analysed(made.summaries());
  ASSERT_TRUE(job.replay && before.replay) << job.replay_refused;
  EXPECT_LT(job.replay->error, 0.02);
  EXPECT_NEAR(static_cast<double>(job.replay->without_culprits_step_ns),
              static_cast<double>(before.step_ns), 0.1 * static_cast<double>(before.step_ns));
}

// Gradients are reduced while the backward pass goes on:
//
//   rank 1    -load---------|-mm-|-back-|            late once, and not again for what comes next
//   others    -load-|-mm-|-back-|.......|...|
//   calls                ##1############|###2####
DrawnJob overlapped(Nanos late_ns) {
  DrawnJob job(4);
  const std::uint32_t all = job.group("0", "dp", {0, 1, 2, 3});
  for (int step = 0; step < 6; ++step) {
    job.begin_step();
    for (std::int32_t r = 0; r < 4; ++r) {
      job.work(r, 1'000'000 + (r == 1 ? late_ns : 0), "load_batch", ActivityKind::Range);
      job.work(r, 4'000'000 + 10'000 * ((r + step) % 3), "mm");
    }
    job.meet(all, false);
    for (std::int32_t r = 0; r < 4; ++r) job.work(r, 5'000'000, "back");
    job.meet(all);
    job.end_step();
  }
  return job;
}

TEST(Job, CountsADelayOnceWhereOthersWorkOnWhileTheyWait) {
  const JobReport job = analysed(overlapped(20'000'000).summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 1);
  EXPECT_EQ(job.verdict->name, "load_batch");
  EXPECT_NEAR(static_cast<double>(job.verdict->per_step_ns), 20e6, 0.2e6);
}

TEST(Job, ReplaysCallsThatOverlapWithWork) {
  const JobReport job = analysed(overlapped(20'000'000).summaries());
  const auto clean = static_cast<double>(overlapped(0).now(0)) / 6;
  ASSERT_TRUE(job.replay) << job.replay_refused;
  EXPECT_LT(job.replay->error, 0.001);
  EXPECT_NEAR(static_cast<double>(job.replay->without_culprits_step_ns), clean, 0.02 * clean);
  EXPECT_NEAR(static_cast<double>(job.replay->ideal_step_ns), clean, 0.02 * clean);
}

// Two pipelines of two stages: ranks 0 and 1 send to ranks 2 and 3, and get something back.
DrawnJob pipelines(std::int32_t slow_rank) {
  DrawnJob job(4);
  const std::uint32_t pairs[] = {job.group("1", "pp", {0, 2}), job.group("2", "pp", {1, 3})};
  const std::uint32_t stages[] = {job.group("3", "dp", {0, 1}), job.group("4", "dp", {2, 3})};
  const auto work = [&](std::int32_t r, const char* name) {
    job.work(r, 3'000'000 + (r == slow_rank ? 4'000'000 : 0), name);
  };
  for (int step = 0; step < 6; ++step) {
    job.begin_step();
    for (std::int32_t r : {0, 1}) work(r, "forward");
    for (std::int32_t r : {0, 1}) job.send(pairs[r], r, r + 2);
    for (std::int32_t r : {2, 3}) work(r, "forward");
    for (std::int32_t r : {2, 3}) work(r, "backward");
    for (std::int32_t r : {0, 1}) job.send(pairs[r], r + 2, r);
    for (std::int32_t r : {0, 1}) work(r, "backward");
    for (const std::uint32_t stage : stages) job.meet(stage);
    job.end_step();
  }
  return job;
}

TEST(Job, BlamesTheSlowStageAndNotThoseThatWaitForIt) {
  EXPECT_FALSE(analysed(pipelines(-1).summaries()).verdict);
  const auto clean = static_cast<double>(pipelines(-1).now(0)) / 6;
  for (const std::int32_t slow : {0, 2, 3}) {
    DrawnJob drawn = pipelines(slow);
    const JobReport job = analysed(drawn.summaries());
    ASSERT_TRUE(job.verdict) << slow;
    EXPECT_EQ(job.verdict->rank, slow);
    EXPECT_EQ(job.verdict->cause, "kernel");
    ASSERT_TRUE(job.replay) << job.replay_refused;
    EXPECT_NEAR(static_cast<double>(job.verdict->per_step_ns),
                static_cast<double>(drawn.now(0)) / 6 - clean, 0.1e6);
    EXPECT_NEAR(static_cast<double>(job.replay->without_culprits_step_ns), clean, 0.02 * clean);
  }
}

// Two ranks of a tensor group compute longer than those of the other three. They wait for each
// other, and go to their data groups directly after that.
TEST(Job, BlamesAGroupWhoseRanksAreLateTogetherInOtherGroups) {
  DrawnJob drawn(8);
  std::vector<std::uint32_t> tensor;
  for (std::int32_t r = 0; r < 8; r += 2)
    tensor.push_back(drawn.group("t" + std::to_string(r), "tensor", {r, r + 1}));
  const std::uint32_t even = drawn.group("even", "data", {0, 2, 4, 6});
  const std::uint32_t odd = drawn.group("odd", "data", {1, 3, 5, 7});
  for (int step = 0; step < 8; ++step) {
    drawn.begin_step();
    for (int layer = 0; layer < 3; ++layer) {
      for (std::int32_t r = 0; r < 8; ++r)
        drawn.work(r, r == 4 || r == 5 ? 3'000'000 : 2'000'000, "mm");
      for (const std::uint32_t group : tensor) drawn.meet(group);
    }
    drawn.meet(even);
    drawn.meet(odd);
    drawn.end_step();
  }
  const JobReport job = analysed(drawn.summaries());
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->ranks, (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(job.verdict->name, "mm");
  EXPECT_NEAR(static_cast<double>(job.verdict->per_step_ns), 3e6, 3e5);
}

TEST(Job, UsesNoGroupOfWhichOnlyTheSizeIsKnown) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  std::vector<RankSummary> ranks = made.summaries();
  for (RankSummary& one : ranks) {
    one.groups.front().ranks.clear();
    one.groups.front().size = 4;
  }
  const JobReport job = analysed(ranks);
  EXPECT_FALSE(job.verdict);
  EXPECT_TRUE(std::any_of(job.groups.begin(), job.groups.end(),
                          [](const JobGroup& group) { return !group.problem.empty(); }));
  for (const JobClock& clock : job.clocks) EXPECT_EQ(clock.offset_ns, 0);
  for (RankSummary& one : ranks) one.groups.front().size = 8;  // that are all
  EXPECT_TRUE(analysed(ranks).verdict);
}

TEST(Job, SaysThatWaitsInSendsWithoutPeersAreNotSeen) {
  DrawnJob drawn(2);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1});
  for (int step = 0; step < 4; ++step) {
    drawn.begin_step();
    for (std::int32_t r = 0; r < 2; ++r) drawn.work(r, 3'000'000, "mm", ActivityKind::Kernel);
    drawn.meet(all);
    drawn.end_step();
  }
  std::vector<RankSummary> ranks = drawn.summaries();
  RankSummary& first = ranks.front();
  CollectiveKind send = first.kinds.front();
  send.of = CollectiveClass::Send;
  first.kinds.push_back(send);
  RankCollective call = first.collectives.back();
  call.kind = static_cast<std::uint32_t>(first.kinds.size() - 1);
  first.collectives.push_back(call);
  const JobReport job = analysed(std::move(ranks));
  EXPECT_EQ(job.pairs_unknown, 1U);
  ASSERT_EQ(job.notes.size(), 1U);
  EXPECT_NE(job.notes[0].find("waits in them are not seen"), std::string::npos) << job.notes[0];
}

TEST(Job, TakesTheMembersOfAGroupFromRanksThatListThem) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1});
  made.delay(5, 20e6, "load_batch");
  std::vector<RankSummary> ranks = made.summaries();
  for (std::size_t r = 2; r < ranks.size(); ++r) ranks[r].groups.front().ranks.clear();
  const JobReport job = analysed(ranks);
  ASSERT_TRUE(job.verdict);
  EXPECT_EQ(job.verdict->rank, 5);
  EXPECT_EQ(job.collectives.front().members, 8U);
}

TEST(Job, MatchesAsManyCallsInOrderWhereTimesTellNothing) {
  DrawnJob drawn(4);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1, 2, 3});
  for (int call = 0; call < 4; ++call) {
    for (std::int32_t r = 0; r < 4; ++r) drawn.work(r, 1'000'000, "mm");
    drawn.meet(all);
  }
  for (const JobCollective& one : analysed(drawn.summaries()).collectives)
    EXPECT_EQ(one.state, MatchState::FullyMatched);
}

// Ends of calls vary by more than a call takes until the next one, so that the first call of one
// rank looks like the second of the other. But both are on one host, and then one would have to
// end before the other begins.
//
// rank 0  |----9|  |----9.4|  |----9|  |----9.4|    ms after each begin, every 10 ms
// rank 1  |----9.4|  |----9|  |----9.4|  |----9|
TEST(Job, MatchesCallsThatOverlapOnTheClockOfAHost) {
  DrawnJob drawn(2);
  drawn.group("0", "dp", {0, 1});
  std::vector<RankSummary> ranks = drawn.summaries();
  for (std::size_t r = 0; r < 2; ++r) {
    CollectiveKind kind;
    kind.name = 0;
    kind.of = CollectiveClass::All;
    ranks[r].texts = {"all_reduce"};
    ranks[r].kinds = {kind};
    for (std::size_t call = 0; call < 4; ++call) {
      RankCollective one;
      one.start_ns = ranks[r].first_ns + static_cast<Nanos>(call) * 10'000'000;
      one.end_ns = one.start_ns + ((call + r) % 2 == 0 ? 9'000'000 : 9'400'000);
      ranks[r].collectives.push_back(one);
    }
    ranks[r].last_ns = ranks[r].collectives.back().end_ns;
  }
  const JobReport job = analysed(ranks);
  ASSERT_EQ(job.collectives.size(), 4U);
  for (const JobCollective& one : job.collectives) EXPECT_EQ(one.state, MatchState::FullyMatched);
}

// All steps last as long. By chance, the ends fit best if one rank's calls are taken for the next.
TEST(Job, MatchesAsManyCallsInOrderWhereTheBestShiftFitsByChance) {
  DrawnJob drawn(2);
  const std::uint32_t all = drawn.group("0", "dp", {0, 1});
  for (int call = 0; call < 6; ++call) {
    for (std::int32_t r = 0; r < 2; ++r) drawn.work(r, 10'000'000, "mm");
    drawn.meet(all);
  }
  std::vector<RankSummary> ranks = drawn.summaries();
  for (std::size_t call = 0; call < 6; ++call) ranks[call % 2].collectives[call].end_ns += 5'000;
  for (RankSummary& rank : ranks) rank.host.clear();
  const JobReport job = analysed(ranks);
  EXPECT_LT(std::abs(job.clocks[1].offset_ns), 100'000);
  EXPECT_EQ(job.contradictions, 0U);
}

TEST(Job, SaysWhoNeverArrived) {
  MadeJob made({.ranks = 4, .ranks_per_host = 1});
  std::vector<RankSummary> ranks = made.summaries();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankCollective last = ranks[r].collectives.back();
    last.start_ns = last.end_ns;
    last.flags |= RankCollective::kUnfinished;
    if (r != 2) ranks[r].collectives.push_back(last);
    ranks[r].last_ns += 1'000'000'000;
  }
  const JobReport job = analysed(ranks);
  ASSERT_EQ(job.hangs.size(), 1U);
  EXPECT_EQ(job.hangs.front().absent, std::vector<std::int32_t>{2});
}

// rank 3's clock is set back by 5 ms in the middle of the job, in which nobody is late.
TEST(JobClocks, AllowForAClockThatWasSetDuringTheRecording) {
  MadeJob made({.ranks = 8, .ranks_per_host = 1, .drift_ppm = 0});
  std::vector<RankSummary> ranks = made.summaries();
  RankSummary& set = ranks[3];
  const Nanos at_ns = set.collectives[set.collectives.size() / 2].start_ns;
  const auto move = [at_ns](auto& begin_ns, auto& end_ns) {
    if (begin_ns < at_ns) return;
    begin_ns -= 5'000'000;
    end_ns -= 5'000'000;
  };
  for (RankCollective& one : set.collectives) move(one.start_ns, one.end_ns);
  for (RankActivity& one : set.activities) move(one.begin_ns, one.end_ns);
  for (RankStep& one : set.steps) move(one.begin_ns, one.end_ns);
  const JobReport job = analysed(ranks);
  EXPECT_FALSE(job.verdict);
  EXPECT_GE(job.clocks[3].error_ns, 2'500'000);
  EXPECT_LT(job.clocks[2].error_ns, 1'000'000);
  ASSERT_FALSE(job.notes.empty());
  EXPECT_NE(job.notes.front().find("Times of rank 3 contradict"), std::string::npos);
  // Nobody waits longer than its calls last.
  for (const JobCollective& one : job.collectives) EXPECT_LE(one.wait_ns, 8 * 8'000'000);
}

// Of many jobs, the true offset lies in the stated bar nearly always, and in the bounds always.
TEST(JobClocks, AreRightWithinWhatTheyState) {
  std::size_t in_bar = 0;
  std::size_t all = 0;
  for (const MadeJobOptions& kind : {
           MadeJobOptions{.ranks = 16, .ranks_per_host = 4},
           MadeJobOptions{.ranks = 16, .ranks_per_host = 1, .offset_ns = 3e9, .drift_ppm = 50},
           MadeJobOptions{.ranks = 16, .ranks_per_host = 4, .tail = 0.3},
           MadeJobOptions{.ranks = 16, .ranks_per_host = 4, .end_lag_ns = 30e3},
           MadeJobOptions{.ranks = 16, .ranks_per_host = 4, .call_share_of_tp = 0.6},
           MadeJobOptions{.ranks = 8, .ranks_per_host = 1, .steps = 2, .calls_per_step = 2},
       }) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      MadeJobOptions options = kind;
      options.seed = seed;
      MadeJob made(options);
      if (seed % 2 == 0) made.delay(3, 20e6, "slow");
      for (const JobClock& clock : analysed(made.summaries()).clocks) {
        const double truth = made.true_offset_ns(clock.rank);
        ++all;
        if (std::abs(truth - static_cast<double>(clock.offset_ns)) <=
            static_cast<double>(clock.error_ns) + 1)
          ++in_bar;
        const double slack = 2;  // of rounding
        if (clock.is_bounded_below) {
          EXPECT_LE(static_cast<double>(clock.low_ns), truth + slack);
        }
        if (clock.is_bounded_above) {
          EXPECT_GE(static_cast<double>(clock.high_ns), truth - slack);
        }
      }
    }
  }
  EXPECT_GE(static_cast<double>(in_bar), 0.99 * static_cast<double>(all))
      << in_bar << " of " << all;
}

TEST(RankSummary, ComesBackFromItsBytes) {
  MadeJob made({.ranks = 2, .ranks_per_host = 1});
  const RankSummary before = made.summaries().front();
  const Result<RankSummary> after = decode_rank_summary(encode(before), "x");
  ASSERT_TRUE(after);
  EXPECT_EQ(encode(*after), encode(before));
  EXPECT_EQ(after->collectives.size(), before.collectives.size());
}

TEST(RankSummary, RefusesBytesThatWereChangedOrCut) {
  MadeJob made({.ranks = 2, .ranks_per_host = 1, .steps = 1});
  const std::vector<std::uint8_t> whole = encode(made.summaries().front());
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::vector<std::uint8_t> changed = whole;
    changed[i] ^= 0x40;
    EXPECT_FALSE(decode_rank_summary(changed, "x")) << i;
    EXPECT_FALSE(decode_rank_summary(std::span(whole).first(i), "x")) << i;
  }
}

TEST(CollectiveName, IsTheSameForAllThatWriteIt) {
  EXPECT_EQ(collective_name("allreduce"), "all_reduce");
  EXPECT_EQ(collective_name("c10d::allreduce_"), "all_reduce");
  EXPECT_EQ(collective_name("gloo:all_reduce"), "all_reduce");
  EXPECT_EQ(collective_name("_reduce_scatter_base"), "reduce_scatter");
  EXPECT_EQ(collective_name("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            "all_gather");
  EXPECT_EQ(collective_name("ncclKernel_AllReduce_RING_LL_Sum_float"), "all_reduce");
  EXPECT_EQ(collective_name("mine"), "mine");
}

}  // namespace
}  // namespace sonde
