// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other tools see scopes, and nothing else, whatever sessions do meanwhile.

#include "record/listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collect/testing/recorded.h"
#include "sonde/record.h"
#include "sonde/source/op.h"

namespace sonde::detail {
namespace {

using sonde::testing::count_spans;
using sonde::testing::ledger_sum;
using sonde::testing::open_session;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What the tool of the calling thread saw.
thread_local std::vector<std::string> told;

const Tool kNotes = {[](const char* name) { told.push_back(std::string("push ") + name); },
                     [] { told.push_back("pop"); },
                     [](const char* name) { told.push_back(std::string("mark ") + name); }};

class Listening {
 public:
  explicit Listening(Listeners who = kNvtx) : who_(who) {
    told.clear();
    set_tool(who_, &kNotes);
    set_listening(who_, true);
  }
  ~Listening() { stop(); }
  void stop() { set_listening(who_, false); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Listeners who_;
};

TEST(Listeners, AreToldOfScopesWithoutASession) {
  const Listening listening;
  {
    SONDE_SCOPE("outer");
    SONDE_SCOPE("inner");
  }
  SONDE_INSTANT("moment");
  EXPECT_THAT(told, ElementsAre("push outer", "push inner", "pop", "pop", "mark moment"));
}

TEST(Listeners, AreNotToldOfWhatBeganBefore) {
  told.clear();
  {
    SONDE_SCOPE("before");
    const Listening listening;
    SONDE_SCOPE("after");
  }
  EXPECT_THAT(told, ElementsAre("push after", "pop"));
}

TEST(Listeners, AreToldOfEndsAfterTheyCeased) {
  Listening listening;
  {
    SONDE_SCOPE("open");
    listening.stop();
    SONDE_SCOPE("unheard");
  }
  EXPECT_THAT(told, ElementsAre("push open", "pop"));
}

TEST(Listeners, AreToldOfLapsOneByOne) {
  const Listening listening;
  {
    Laps laps;
    SONDE_LAP(laps, "first");
    SONDE_LAP(laps, "second");
  }
  EXPECT_THAT(told, ElementsAre("push first", "pop", "push second", "pop"));
}

TEST(Listeners, AreToldOfNoMoreThanTheyCanBeToldTheEndOf) {
  const Listening listening;
  const auto nest = [](const auto& self, int depth) -> void {
    SONDE_SCOPE("nested");
    if (depth > 1) self(self, depth - 1);
  };
  nest(nest, 1000);
  const auto pushes = std::count(told.begin(), told.end(), "push nested");
  EXPECT_GT(pushes, 200);
  EXPECT_LT(pushes, 1000);
  EXPECT_EQ(std::count(told.begin(), told.end(), "pop"), pushes);
}

TEST(Listeners, ChangeNothingInWhatASessionRecords) {
  const Trace trace = testing::record_window(*open_session({}), [] {
    SONDE_SCOPE("before");
    Listening listening;
    {
      SONDE_SCOPE("told");
      Laps laps;
      SONDE_LAP(laps, "first");
      SONDE_LAP(laps, "second");
      listening.stop();
      SONDE_SCOPE("untold");
    }
    SONDE_SCOPE("after");
  });
  const auto parent_of = [&](const char* name) {
    return trace.name(trace.spans().parent[testing::find_span(trace, name)]);
  };
  EXPECT_EQ(parent_of("told"), "before");
  EXPECT_EQ(parent_of("first"), "told");
  EXPECT_EQ(parent_of("second"), "told");
  EXPECT_EQ(parent_of("after"), "before");
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_THAT(told, ElementsAre("push told", "push first", "pop", "push second", "pop", "pop"));
}

TEST(Listeners, LeaveTheEndsOfOperatorsToTheSession) {
  const Trace trace = testing::record_window(*open_session({}), [] {
    const Listening listening;
    SONDE_SCOPE("around");
    const sonde_op op = {sizeof(op), sonde_name("aten::mm", 8), 0, -1, 0, 0};
    ASSERT_NE(sonde_op_begin(&op), 0);
    sonde_end();
    SONDE_SCOPE("behind");
  });
  EXPECT_THAT(told, ElementsAre("push around", "push behind", "pop", "pop"));
  EXPECT_EQ(trace.name(trace.spans().parent[testing::find_span(trace, "behind")]), "around");
  EXPECT_EQ(count_spans(trace, "aten::mm"), 1u);
}

// The second window of a session with two windows.
Trace with_something_between_windows(bool listens) {
  const auto session = open_session({});
  static_cast<void>(testing::record_window(*session, [] { SONDE_SCOPE("inside"); }));
  {
    const auto listening = listens ? std::make_unique<Listening>() : nullptr;
    SONDE_SCOPE("outside");
    const record_function also("also outside");
  }
  return testing::record_window(*session, [] { SONDE_SCOPE("inside"); });
}

TEST(Listeners, GetNothingIntoATraceOutsideItsWindows) {
  const Trace told_trace = with_something_between_windows(true);
  EXPECT_THAT(told, ElementsAre("push outside", "push also outside", "pop", "pop"));
  const Trace trace = with_something_between_windows(false);
  EXPECT_EQ(told_trace.spans().size(), 1u);
  EXPECT_EQ(ledger_sum(told_trace, LedgerKind::OutOfWindow),
            ledger_sum(trace, LedgerKind::OutOfWindow));
}

TEST(Listeners, AreToldOfRangesByName) {
  const Trace trace = testing::record_window(*open_session({}), [] {
    const Listening listening;
    const record_function range("step 7");
  });
  EXPECT_THAT(told, ElementsAre("push step 7", "pop"));
  EXPECT_EQ(count_spans(trace, "step 7"), 1u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

TEST(Listeners, AreToldWhereARangeBeganIfItEndsElsewhere) {
  const Listening listening;
  record_function range("moves");
  std::vector<std::string> told_there;
  std::thread([&] {
    range.end();
    told_there = told;
  }).join();
  EXPECT_THAT(told_there, IsEmpty());
  {
    SONDE_SCOPE("next");
  }
  EXPECT_THAT(told, ElementsAre("push moves", "pop", "push next", "pop"));
}

TEST(Listeners, AreToldEachOfItsOwn) {
  Listening first(kNvtx);
  {
    SONDE_SCOPE("of the first");
    const Listening second(kItt);
    told.clear();
  }
  EXPECT_THAT(told, ElementsAre("pop"));
}

TEST(Listeners, SendThreadsBackToTheInlinedPathWhenTheyCease) {
  if (tick_source() != TickSource::Counter) GTEST_SKIP() << "there is no inlined path here";
  static_cast<void>(testing::record_window(*open_session({}), [] {
    {
      const Listening listening;
      SONDE_SCOPE("told");
      EXPECT_EQ(sonde_detail_cursor.begin_limit, 0u);
    }
    {
      SONDE_SCOPE("first");
    }
    EXPECT_EQ(sonde_detail_cursor.begin_limit, kBeginLimit);
  }));
}

// A tracer attaches to the probes: the kernel raises their semaphore.
TEST(Probes, CountAsListening) {
  EXPECT_EQ(sonde_is_recording(), 0);
  __atomic_fetch_add(&sonde_detail_recording, std::uint32_t{1} << kSemaphoreShift,
                     __ATOMIC_SEQ_CST);
  EXPECT_EQ(listeners(), kProbes);
  EXPECT_EQ(sonde_is_recording(), 0);
  {
    SONDE_SCOPE("probed");
  }
  __atomic_fetch_sub(&sonde_detail_recording, std::uint32_t{1} << kSemaphoreShift,
                     __ATOMIC_SEQ_CST);
  EXPECT_EQ(listeners(), 0u);
}

}  // namespace
}  // namespace sonde::detail
