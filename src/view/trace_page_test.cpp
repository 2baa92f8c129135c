// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/view/trace_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "analyse/testing/op_trace.h"
#include "sonde/analyse/report.h"
#include "sonde/open.h"
#include "sonde/trace/builder.h"
#include "view/flame.h"
#include "view/timeline/page_data.h"
#include "view/timeline/views.h"

namespace sonde {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::OpTrace;

Report report_of(const std::string& file) {
  const Result<Trace> trace = open_trace(std::string(SONDE_TEST_DATA) + "/torch-2.11-h200/" + file);
  return trace ? report(*trace) : Report();
}

TEST(TracePage, NeedsNothingFromElsewhere) {
  OpTrace t;
  t.op("aten::mm", 0, 10);
  const std::string page = *trace_page(t.build(), "run.sonde");
  for (const char* const sign : {"src=\"", "href=\"", "{{HEAD}}", "{{DATA}}", "{{SCRIPT}}"})
    EXPECT_THAT(page, Not(HasSubstr(sign)));
  EXPECT_THAT(page, HasSubstr("<title>run.sonde"));
}

TEST(TracePage, LetsNoNameOutOfItsPlace) {
  OpTrace t;
  t.op("</script><script>alert(1)</script>", 0, 10);
  const std::string page = *trace_page(t.build(), "</script><img onerror=alert(2)>{{DATA}}");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
}

TEST(TracePage, CutsAStretchOutOfALargeTrace) {
  OpTrace t;
  for (int i = 0; i < 1000; ++i) t.op("aten::mm", 10 * i, 10 * i + 5);
  const detail::TraceAnswers answers(t.build(), "t");
  const std::string data = detail::page_data(answers, {.most_spans = 100, .from = 0, .at = ""});
  EXPECT_THAT(data, HasSubstr("\"kept\": 100"));
  EXPECT_THAT(data, HasSubstr("\"cut\": [0, "));
}

TEST(TracePage, HasFurtherViewsBesideItsOwn) {
  const std::vector<PageView> more = {{"compare", R"({"verdict": "passed"})"}};
  OpTrace t;
  t.op("aten::mm", 0, 10);
  const detail::TraceAnswers answers(t.build(), "t", more);
  EXPECT_THAT(detail::view_names(answers), Contains("overview"));
  EXPECT_THAT(detail::view_names(answers), Contains("compare"));
  EXPECT_EQ(*detail::view_json(answers, "compare"), more[0].json);
}

TEST(TracePage, OfAJobHasNoViewOfOneProcess) {
  OpTrace t;
  t.op("aten::mm", 0, 10);
  const detail::TraceAnswers answers(t.build(), "t", {{"ranks", "{}"}}, true);
  EXPECT_THAT(detail::view_names(answers), ElementsAre("timeline", "ledger", "ranks"));
}

TEST(ViewPage, HasOneViewAlone) {
  const detail::TraceAnswers answers(*TraceBuilder().build(), "t", {{"ranks", "{}"}});
  EXPECT_THAT(detail::view_names(answers), ElementsAre("ranks"));
  const Result<std::string> page = view_page({"ranks", "{}"}, "<job>");
  ASSERT_TRUE(page.has_value());
  EXPECT_THAT(*page, HasSubstr("<title>&lt;job>"));
}

TEST(TracePage, ShowsTheSlowestStepOfALongRun) {
  OpTrace t;
  Nanos at_us = 0;
  for (int i = 0; i < 5000; ++i) {
    const Nanos length_us = i == 4321 ? 700 : 20;
    t.step(i, at_us, at_us + length_us);
    at_us += length_us + 1;
  }
  const detail::TraceAnswers answers(t.build(), "t");
  const std::string overview = *detail::view_json(answers, "overview");
  EXPECT_THAT(overview, HasSubstr("\"steps_in_all\": 5000"));
  EXPECT_THAT(overview, HasSubstr("{\"step\": 4321, "));
  std::size_t shown = 0;
  for (std::size_t at = overview.find("{\"step\": "); at != std::string::npos;
       at = overview.find("{\"step\": ", at + 1))
    ++shown;
  EXPECT_GT(shown, 1900U);
  EXPECT_LE(shown, 2000U);
}

TEST(TracePage, ColoursAFlameGraphByClass) {
  OpTrace t;
  t.python("train.py(3): run", 0, 100);
  t.op("aten::mm", 10, 90);
  const detail::TraceAnswers answers(t.build(), "t");
  const std::string flame = *detail::view_json(answers, "flame");
  EXPECT_THAT(flame, HasSubstr(R"("train.py(3): run", "aten::mm"], "classes": [-1, -1, 2, 0])"));
}

TEST(FlameForPage, LeavesOutWhatIsTooNarrowToSee) {
  std::vector<FlameNode> all = {{"all threads", 0, 0, 1'000'000, 0, 0},
                                {"wide", 0, 1, 999'900, 999'900, 1},
                                {"narrow", 0, 1, 100, 0, 1},
                                {"within", 2, 2, 100, 100, 1}};
  const std::vector<FlameNode> shown = detail::flame_for_page(all);
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[1].name, "wide");
}

TEST(FlameForPage, JoinsEqualPathsOfAllThreads) {
  const std::vector<FlameNode> all = {{"all threads", 0, 0, 90, 0, 0}, {"thread 1", 0, 1, 60, 0, 0},
                                      {"run", 1, 2, 60, 20, 1},        {"mm", 2, 3, 40, 40, 2},
                                      {"thread 2", 0, 1, 30, 0, 0},    {"run", 4, 2, 30, 10, 1},
                                      {"add", 5, 3, 20, 20, 1}};
  const std::vector<FlameNode> joined = detail::with_threads_joined(all);
  ASSERT_EQ(joined.size(), 4U);
  EXPECT_EQ(joined[1].name, "run");
  EXPECT_EQ(joined[1].parent, 0U);
  EXPECT_EQ(joined[1].total_ns, 90);
  EXPECT_EQ(joined[1].self_ns, 30);
  EXPECT_EQ(joined[1].count, 2U);
  EXPECT_EQ(joined[3].name, "add");
  EXPECT_EQ(joined[3].parent, 1U);
}

TEST(FlameForPage, KeepsNoMoreThanAPageCanHold) {
  std::vector<FlameNode> all = {{"all threads", 0, 0, 6'000, 0, 0}};
  for (int i = 0; i < 6000; ++i) all.push_back({"n", 0, 1, 1 + i % 2, 1, 1});
  EXPECT_LE(detail::flame_for_page(all).size(), 4001U);
}

class RealTraces : public ::testing::TestWithParam<const char*> {};

TEST_P(RealTraces, KeepTheIdentities) {
  const Report found = report_of(GetParam());
  ASSERT_FALSE(found.trace.spans().empty());
  for (const DeviceTime& device : found.devices) {
    const auto sum = [](const auto& parts) {
      return std::accumulate(parts.begin(), parts.end(), Nanos{0});
    };
    EXPECT_EQ(device.busy_ns + device.idle_ns, device.extent_ns());
    EXPECT_EQ(sum(device.idle_by_cause), device.idle_ns);
    EXPECT_EQ(sum(device.host_wait_by_doing), device.idle_of(IdleCause::HostWait));
    EXPECT_LE(device.communication_hidden_ns, device.communication.union_ns);
  }
  for (const StepTime& step : found.steps.steps) {
    if (step.device_busy_ns < 0) continue;
    EXPECT_EQ(step.device_busy_ns + step.device_idle_ns, step.host_ns());
  }
  std::vector<Nanos> parts_ns;
  for (const FlameNode& node : found.host.flame) {
    EXPECT_GE(node.self_ns, 0) << node.name;
    parts_ns.push_back(node.self_ns);
    if (parts_ns.size() > 1) parts_ns[node.parent] += node.total_ns;
  }
  for (std::size_t i = 0; i < parts_ns.size(); ++i)
    EXPECT_GE(parts_ns[i], found.host.flame[i].total_ns) << found.host.flame[i].name;
  for (std::size_t i = 1; i < found.findings.size(); ++i)
    EXPECT_LE(found.findings[i].saving_ns, found.findings[i - 1].saving_ns);
}

INSTANTIATE_TEST_SUITE_P(OfTorch, RealTraces,
                         ::testing::Values("transformer.pt.trace.json.gz",
                                           "graph_streams.pt.trace.json.gz",
                                           "compiled.pt.trace.json.gz",
                                           "ranks4/rank0.pt.trace.json.gz"));

TEST(RealTrace, OfASmallTransformerWaitsForItsHost) {
  const Report found = report_of("transformer.pt.trace.json.gz");
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.steps.steps.size(), 2U);
  EXPECT_THAT(found.verdict, HasSubstr("waits for the host"));
}

TEST(RealTrace, OfARankThatIsInTimeWaitsForTheOneThatIsNot) {
  const auto waits = [](const std::string& file) {
    const Report found = report_of("ranks4/" + file);
    return !found.findings.empty() && found.findings.front().id == "waiting_for_ranks";
  };
  EXPECT_TRUE(waits("rank0.pt.trace.json.gz"));
  EXPECT_TRUE(waits("rank1.pt.trace.json.gz"));
  EXPECT_FALSE(waits("rank2.pt.trace.json.gz")) << "it sleeps at the head of each step";
}

TEST(RealTrace, OfStreamsAndGraphsHasCopiesOfPageableMemory) {
  const Report found = report_of("graph_streams.pt.trace.json.gz");
  std::vector<std::string> ids;
  for (const Finding& finding : found.findings) ids.push_back(finding.id);
  EXPECT_THAT(ids, Contains("pageable_copies"));
  EXPECT_EQ(found.copies.pageable.size(), 5U);
}

}  // namespace
}  // namespace sonde
