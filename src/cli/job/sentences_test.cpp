// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "analyse/job/testing/drawn_job.h"
#include "cli/job/job.h"

namespace sonde::cli {
namespace {

using testing::DrawnJob;

// Eight ranks of which one is late in each step: `late(step)` says which and how much.
template <typename Late>
JobReport report_of(Late late) {
  DrawnJob job(8);
  const std::uint32_t all = job.group("0", "dp", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int step = 0; step < 8; ++step) {
    job.begin_step();
    for (std::int32_t r = 0; r < 8; ++r) job.work(r, 4'900'000 + 1'000 * ((r + step) % 3), "mm");
    const auto [rank, ns] = late(step);
    job.work(rank, ns, "load_batch", ActivityKind::Range);
    job.meet(all);
    job.end_step();
  }
  const Result<JobReport> report = analyse_job(job.summaries());
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : JobReport();
}

template <typename Late>
std::vector<std::string> sentences_of(Late late) {
  return job_sentences(report_of(late));
}

bool begins_with(const std::string& text, std::string_view begin) {
  return text.starts_with(begin);
}

TEST(JobSentences, NameSeveralRanksThatCostAboutAsMuch) {
  const auto said = sentences_of(
      [](int step) { return std::pair<std::int32_t, Nanos>(step % 2 == 0 ? 2 : 6, 5'000'000); });
  ASSERT_FALSE(said.empty());
  EXPECT_PRED2(begins_with, said[0],
               "Several ranks hold the others up, and none of them is clearly the worst: rank ");
  EXPECT_NE(said[0].find("rank 2 by 2.5"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("rank 6 by 2."), std::string::npos) << said[0];
}

TEST(JobSentences, NameTheRankThatCostsMostAfterTheWorst) {
  const auto said = sentences_of([](int step) {
    return std::pair<std::int32_t, Nanos>(step % 2 == 0 ? 2 : 6,
                                          step % 2 == 0 ? 9'000'000 : 3'000'000);
  });
  ASSERT_GT(said.size(), 3U);
  EXPECT_PRED2(begins_with, said[0], "Rank 2 holds the others up: ");
  EXPECT_PRED2(begins_with, said[3], "Next comes rank 6 with 1.5");
  EXPECT_NE(said[3].find(", because of load_batch."), std::string::npos) << said[3];
}

TEST(JobSentences, SayInWhichStepARankWasLateOnce) {
  const auto said = sentences_of(
      [](int step) { return std::pair<std::int32_t, Nanos>(4, step == 5 ? 90'000'000 : 1); });
  ASSERT_FALSE(said.empty());
  EXPECT_PRED2(begins_with, said[0], "Rank 4 held the others up once: ");
  EXPECT_NE(said[0].find(" in step 5, "), std::string::npos) << said[0];
}

TEST(JobSentences, SayThatNobodyIsLate) {
  const auto said = sentences_of([](int) { return std::pair<std::int32_t, Nanos>(4, 1); });
  ASSERT_FALSE(said.empty());
  EXPECT_PRED2(begins_with, said[0], "No rank holds the others up by more than the noise: ");
}

// Ranks 0 to 3 load data for longer than ranks 4 to 7: half of the job is late.
TEST(JobSentences, SayWhoWaitsWhereHalfOfTheRanksAreLate) {
  DrawnJob job(8);
  const std::uint32_t all = job.group("0", "dp", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int step = 0; step < 6; ++step) {
    job.begin_step();
    for (std::int32_t r = 0; r < 4; ++r) job.work(r, 5'000'000, "load", ActivityKind::Range);
    for (std::int32_t r = 0; r < 8; ++r) job.work(r, 5'000'000, "mm");
    job.meet(all);
    job.end_step();
  }
  const Result<JobReport> report = analyse_job(job.summaries());
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->verdict);
  EXPECT_PRED2(begins_with, job_sentences(*report).front(),
               "No rank is later than all others, but ranks 4, 5, 6 and 7 wait at least 30.000 ms "
               "longer than each of the other 4");
}

TEST(JobMarkdown, SaysEachSentenceOnce) {
  const JobReport report =
      report_of([](int) { return std::pair<std::int32_t, Nanos>(4, 5'000'000); });
  Output out;
  write_job_markdown(report, out);
  const std::string text = out.take();
  const std::string first = job_sentences(report).front();
  EXPECT_LT(text.find(first), text.find("```"));
  EXPECT_EQ(text.find(first, text.find(first) + 1), std::string::npos);
}

TEST(JobNames, AreCutBetweenLetters) {
  EXPECT_EQ(short_name("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 7), "\xc3\xa9\xc3\xa9...");
  EXPECT_EQ(short_name("short", 7), "short");
}

}  // namespace
}  // namespace sonde::cli
