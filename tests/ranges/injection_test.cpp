// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's NVTX ranges and marks are in its trace.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../run/launched.h"

namespace sonde::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The text of a span; "" if there is none.
std::string text_of(const Trace& trace, SpanId span) {
  const auto& extras = trace.extras();
  for (std::size_t i = 0; i < extras.size(); ++i) {
    if (extras.of_table[i] == TableKind::Spans && extras.of_row[i] == span.index())
      return std::string(trace.string(extras.value[i]));
  }
  return {};
}

class NvtxProgram : public ::testing::TestWithParam<const char*> {
 protected:
  Trace record() {
    Launched run(dir_, sonde_run({"-o", "out.sonde", "--", GetParam()}));
    EXPECT_EQ(run.wait(), 0) << run.errors();
    errors_ = run.errors();
    auto trace = open_sonde(dir_.file("out.sonde"));
    EXPECT_TRUE(trace) << trace.error().message << errors_;
    return trace ? *std::move(trace) : Trace();
  }
  TempDir dir_;
  std::string errors_;
};

TEST_P(NvtxProgram, HasItsPushedRangesInTheTrace) {
  const Trace trace = record();
  EXPECT_EQ(trace.spans().parent[find_span(trace, "inner")], find_span(trace, "outer"));
  EXPECT_EQ(trace.spans().parent[find_span(trace, "factorise")], find_span(trace, "step"));
  EXPECT_EQ(count_spans(trace, "größer"), 1u);
  EXPECT_EQ(trace.spans().kind[find_span(trace, "step")], SpanKind::UserAnnotation);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_THAT(errors_, Not(HasSubstr("NVTX")));
}

TEST_P(NvtxProgram, HasRangesThatEndOnOtherThreadsInTheTrace) {
  const Trace trace = record();
  EXPECT_EQ(count_spans(trace, "transfer"), 1u);
}

TEST_P(NvtxProgram, HasItsMarksInTheTrace) {
  const Trace trace = record();
  ASSERT_EQ(trace.instants().size(), 1u);
  EXPECT_EQ(trace.string(trace.instants().name[0]), "moment");
  EXPECT_EQ(trace.instants().span[0], find_span(trace, "inner"));
}

TEST_P(NvtxProgram, HasDomainCategoryAndPayloadInTheTrace) {
  const Trace trace = record();
  EXPECT_EQ(text_of(trace, find_span(trace, "factorise")),
            "\"domain: solver, category: linear, payload: -12\"");
  EXPECT_EQ(text_of(trace, find_span(trace, "outer")), "");
}

const std::vector<const char*> kPrograms = {
    NVTX_PROGRAM,
#ifdef NVTX3_PROGRAM
    NVTX3_PROGRAM,
#endif
};

INSTANTIATE_TEST_SUITE_P(, NvtxProgram, ::testing::ValuesIn(kPrograms), [](const auto& program) {
  return std::string(program.index == 0 ? "ByItsInterface" : "ByItsHeaders");
});

TEST(NvtxInjection, LeavesTheToolThatTheUserNamedAlone) {
  const TempDir dir;
  Launched run(dir, sonde_run({"-o", "out.sonde", "--", NVTX_PROGRAM}),
               {{"NVTX_INJECTION64_PATH", NVTX_COLLECTOR}, {"COLLECTED", dir.file("collected")}});
  run.wait();
  EXPECT_THAT(read_file(dir.file("collected")).value_or(""), HasSubstr("push outer\n"));
  EXPECT_THAT(run.errors(),
              HasSubstr(std::string("sonde: NVTX ranges are not recorded: NVTX_INJECTION64_PATH "
                                    "names ") +
                        NVTX_COLLECTOR));
}

TEST(NvtxInjection, IsNotHandedToChildrenThatAreNotFollowed) {
  const TempDir dir;
  Launched run(dir, sonde_run({"--no-follow-children", "--", "/bin/sh", "-c",
                               "/usr/bin/env | grep -c NVTX_INJECTION64_PATH; true"}));
  EXPECT_EQ(run.wait(), 0) << run.errors();
  EXPECT_EQ(run.output(), "0\n");
}

}  // namespace
}  // namespace sonde::testing
