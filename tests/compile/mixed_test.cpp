// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Units with and without SONDE_DISABLE in one program, without inlining: neither may get the
// other's functions from the linker.

#include <gtest/gtest.h>
#include <sonde/profiler.h>
#include <sonde/record.h>

#include <map>
#include <string>

#include "disabled_unit.h"

namespace {

TEST(MixedUnits, RecordWhereRecordingIsOnAndNowhereElse) {
  sonde::Profiler profiler;
  profiler.start();
  in_disabled_unit();
  {
    sonde::Laps laps;
    SONDE_LAP(laps, "lap");
    laps.end();
    sonde::record_function range("range", "batch", 1);
    range.end();
    sonde::recorded("called", [] {});
    sonde::AsyncScope async = SONDE_ASYNC("async");
    async.end();
  }
  profiler.stop();

  const sonde::Result<sonde::Trace> trace = profiler.trace();
  ASSERT_TRUE(trace) << trace.error().message;
  std::map<std::string, int> finished;
  for (const sonde::SpanId span : trace->all_spans()) {
    const bool ended = (trace->spans().flags[span] & sonde::SpanFlags::kUnfinished) == 0;
    finished[std::string(trace->name(span))] += ended ? 1 : 0;
  }
  EXPECT_EQ(finished,
            (std::map<std::string, int>{{"lap", 1}, {"range", 1}, {"called", 1}, {"async", 1}}));
}

}  // namespace
