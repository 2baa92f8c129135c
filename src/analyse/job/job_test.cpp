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
