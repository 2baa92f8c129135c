// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Built in four ways: as C++17 and C++20, recording and with SONDE_DISABLE.

#include <gtest/gtest.h>
#include <sonde/profiler.h>
#include <sonde/record.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "macros_places.h"

namespace {

#ifdef SONDE_DISABLE
constexpr bool kRecords = false;
#else
constexpr bool kRecords = true;
#endif

// How often each name was recorded, by a span, an instant or a counter.
using Counts = std::map<std::string, int>;

Counts recorded(const std::function<void()>& work) {
  sonde::Profiler profiler;
  profiler.start();
  work();
  profiler.stop();
  const sonde::Result<sonde::Trace> trace = profiler.trace();
  if (!trace) {
    ADD_FAILURE() << trace.error().message;
    return {};
  }
  Counts counts;
  const auto count = [&](const auto& names) {
    for (std::size_t row = 0; row < names.size(); ++row)
      ++counts[std::string(trace->string(names[row]))];
  };
  count(trace->spans().name);
  count(trace->instants().name);
  count(trace->counters().name);
  return counts;
}

Counts expected(Counts counts) {
  return kRecords ? counts : Counts();
}

TEST(Macros, StandTwiceInOneBlock) {
  EXPECT_EQ(recorded([] {
              SONDE_SCOPE("scope");
              SONDE_SCOPE("scope");
              SONDE_INSTANT("instant");
              SONDE_INSTANT("instant");
              SONDE_COUNTER("counter", 1);
              SONDE_COUNTER("counter", 2);
              sonde::Laps laps;
              SONDE_LAP(laps, "lap");
              SONDE_LAP(laps, "lap");
              sonde::AsyncScope first = SONDE_ASYNC("async");
              sonde::AsyncScope second = SONDE_ASYNC("async");
              first.end();
              second.end();
            }),
            expected({{"scope", 2}, {"instant", 2}, {"counter", 2}, {"lap", 2}, {"async", 2}}));
}

void named_after_me() {
  SONDE_FUNCTION();
  SONDE_FUNCTION();
}

TEST(Macros, FunctionTakesTheNameOfItsFunction) {
  EXPECT_EQ(recorded(named_after_me), expected({{"named_after_me", 2}}));
}

TEST(Macros, ShareOneSiteAcrossUnits) {
  EXPECT_EQ(
      recorded([] {
        in_inline_function();
        from_another_unit();
      }),
      expected(
          {{"inline function", 2}, {"inline instant", 2}, {"template", 1}, {"template value", 1}}));
}

TEST(Macros, WorkInTemplatesOfSeveralTypes) {
  EXPECT_EQ(recorded([] {
              in_template(1);
              in_template(1.5F);
            }),
            expected({{"template", 2}, {"template value", 2}}));
}

TEST(Macros, WorkInLambdasAndGenericLambdas) {
  EXPECT_EQ(recorded([] {
              const auto generic = [](auto value) {
                SONDE_SCOPE("generic");
                SONDE_COUNTER("value", value);
              };
              generic(1);
              generic(2U);
            }),
            expected({{"generic", 2}, {"value", 2}}));
}

struct Marked {
  Marked() { SONDE_SCOPE("constructor"); }
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;
  ~Marked() { SONDE_SCOPE("destructor"); }
  void member() const { SONDE_SCOPE("member"); }
  static void static_member() { SONDE_SCOPE("static member"); }
};

TEST(Macros, WorkInMembers) {
  EXPECT_EQ(recorded([] {
              const Marked marked;
              marked.member();
              Marked::static_member();
            }),
            expected({{"constructor", 1}, {"destructor", 1}, {"member", 1}, {"static member", 1}}));
}

TEST(Macros, AreSingleStatementsWhereTheySaySo) {
  EXPECT_EQ(recorded([] {
              sonde::Laps laps;
              for (const bool yes : {true, false}) {
                if (yes)
                  SONDE_INSTANT("yes");
                else
                  SONDE_COUNTER("no", 0);
                if (yes)
                  SONDE_LAP(laps, "lap");
                else
                  SONDE_INSTANT("no lap");
              }
            }),
            expected({{"yes", 1}, {"no", 1}, {"lap", 1}, {"no lap", 1}}));
}

TEST(Macros, CounterLooksAtItsValueOnlyWhileRecording) {
  int looks = 0;
  const auto look = [&looks] { return ++looks; };
  SONDE_COUNTER("idle", look());
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(recorded([&] { SONDE_COUNTER("busy", look()); }), expected({{"busy", 1}}));
  EXPECT_EQ(looks, kRecords ? 1 : 0);
}

void named_after_me_with_arguments() {
  SONDE_FUNCTION("batch", 1);
}

TEST(Macros, TakeArguments) {
  EXPECT_EQ(recorded([] {
              SONDE_SCOPE("scope", "batch", 1);
              SONDE_SCOPE("scope", "a", 1, "b", 2U, "c", 0.5, "d", true, "e", "text", "f",
                          std::string("text"), "g", 'g', SONDE_CATEGORY, "io");
              named_after_me_with_arguments();
              for (const bool yes : {true, false}) {
                if (yes)
                  SONDE_INSTANT("yes", "batch", 1);
                else
                  SONDE_INSTANT("no", "batch", 2);
              }
            }),
            expected({{"scope", 2}, {"named_after_me_with_arguments", 1}, {"yes", 1}, {"no", 1}}));
}

TEST(Macros, EvaluateArgumentsOnlyWhileRecording) {
  int looks = 0;
  const auto look = [&looks] { return ++looks; };
  const auto work = [&] {
    SONDE_SCOPE("scope", "looks", look());
    SONDE_INSTANT("instant", "looks", look());
  };
  work();
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(recorded(work), expected({{"scope", 1}, {"instant", 1}}));
  EXPECT_EQ(looks, kRecords ? 2 : 0);
}

TEST(Macros, ScopesEndInTheBlockTheyBeganIn) {
  EXPECT_EQ(recorded([] {
              for (int i = 0; i < 3; ++i) SONDE_INSTANT("turn");
              for (int i = 0; i < 3; ++i) {
                SONDE_SCOPE("turn");
                if (i == 1) continue;
              }
            }),
            expected({{"turn", 6}}));
}

}  // namespace
