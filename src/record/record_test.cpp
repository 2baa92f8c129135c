// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Marking work, in C++ and in C, and how it appears in the trace of a session.

#include "sonde/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/testing/recorded.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::count_spans;
using testing::find_span;
using testing::ledger_sum;
using testing::open_session;

template <typename Body>
Trace record(Body&& body) {
  return testing::record_window(*open_session({}), body);
}

SpanId parent_of(const Trace& trace, std::string_view name) {
  return trace.spans().parent[find_span(trace, name)];
}

TEST(Scope, IsNestedInTheOneAroundIt) {
  const Trace trace = record([] {
    SONDE_SCOPE("outer");
    {
      SONDE_SCOPE("first");
    }
    SONDE_SCOPE("second");
  });
  EXPECT_EQ(parent_of(trace, "first"), find_span(trace, "outer"));
  EXPECT_EQ(parent_of(trace, "second"), find_span(trace, "outer"));
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

void named_after_itself() {
  SONDE_FUNCTION();
}

TEST(Scope, IsNamedAfterItsFunctionAndKnowsItsPlace) {
  const Trace trace = record([] { named_after_itself(); });
  const SpanId span = find_span(trace, "named_after_itself");
  EXPECT_THAT(trace.string(trace.spans().source_file[span]),
              ::testing::EndsWith("record_test.cpp"));
  EXPECT_GT(trace.spans().source_line[span], 0);
}

TEST(Scope, IsRecordedInTheDestructorOfAThreadLocal) {
  struct AtThreadExit {
    ~AtThreadExit() { SONDE_SCOPE("at thread exit"); }
  };
  const Trace trace = record([] {
    std::thread([] {
      thread_local const AtThreadExit last;
      (void)last;
      SONDE_SCOPE("in the thread");
    }).join();
    std::thread([] {
      thread_local const AtThreadExit alone;
      (void)alone;
    }).join();
  });
  EXPECT_EQ(count_spans(trace, "at thread exit"), 2u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

struct AtExit {
  ~AtExit() { SONDE_SCOPE("at exit"); }
};

// Ends the process inside a window, with one static that was made before the session and one after.
void exit_while_recording(const std::string& path) {
  static const AtExit before;
  (void)before;
  static Session* const session = open_session({.output = path}).release();  // never closed
  if (!session->begin_window(0)) std::abort();
  static const AtExit after;
  (void)after;
  std::exit(0);
}

pthread_key_t again_and_again;
std::atomic<std::uint64_t> rounds{0};

// Asks to be called again as often as the system allows, and records each time.
void record_at_thread_end(void* value) {
  {
    SONDE_SCOPE("late");
  }
  rounds.fetch_add(1);
  ::pthread_setspecific(again_and_again, value);
}

TEST(Scope, IsRecordedOnItsTrackWhileItsThreadComesToAnEnd) {
#if SONDE_DETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the thread sanitizer forgets a thread before its last destructors run";
#endif
  ASSERT_EQ(::pthread_key_create(&again_and_again, record_at_thread_end), 0);
  const Trace trace = record([] {
    std::thread([] {
      {
        SONDE_SCOPE("early");
      }
      ::pthread_setspecific(again_and_again, &rounds);
    }).join();
  });
  EXPECT_GE(rounds.load(), 4u);
  EXPECT_EQ(count_spans(trace, "late"), rounds.load());
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_EQ(trace.tracks().size(), 1u);
  ::pthread_key_delete(again_and_again);
}

TEST(ScopeDeathTest, IsRecordedInTheDestructorOfAStaticWhileASessionIsOpen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const testing::TempDir dir;
  // A child process dies, so it needs to know where to write.
  ASSERT_EQ(::setenv("SONDE_RECORD_TEST_OUTPUT", dir.file("exit.sonde").c_str(), 0), 0);
  const std::string path = std::getenv("SONDE_RECORD_TEST_OUTPUT");
  EXPECT_EXIT(exit_while_recording(path), ::testing::ExitedWithCode(0), "");
  ::unsetenv("SONDE_RECORD_TEST_OUTPUT");
  const auto trace = open_sonde(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count_spans(*trace, "at exit"), 1u);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Truncated), 0u);
}

TEST(Laps, FollowOneAnotherWithoutAGap) {
  const Trace trace = record([] {
    Laps laps;
    SONDE_LAP(laps, "load");
    SONDE_LAP(laps, "train");
    {
      SONDE_SCOPE("inside");
    }
    SONDE_LAP(laps, "save");
  });
  const SpanId load = find_span(trace, "load");
  const SpanId train = find_span(trace, "train");
  EXPECT_EQ(trace.end_ns(load), trace.spans().start_ns[train]);
  EXPECT_EQ(trace.end_ns(train), trace.spans().start_ns[find_span(trace, "save")]);
  EXPECT_EQ(parent_of(trace, "inside"), train);
  EXPECT_FALSE(trace.spans().parent[train].valid());
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

TEST(Laps, EndEarlyAndBeginAnew) {
  const Trace trace = record([] {
    Laps laps;
    SONDE_LAP(laps, "one");
    laps.end();
    laps.end();
    {
      SONDE_SCOPE("between");
    }
    SONDE_LAP(laps, "two");
  });
  EXPECT_FALSE(parent_of(trace, "between").valid());
  EXPECT_EQ(trace.spans().size(), 3u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unmatched), 0u);
}

TEST(RecordFunction, EndsEarlyAndOnce) {
  const Trace trace = record([] {
    record_function range("early");
    range.end();
    range.end();
    SONDE_SCOPE("after");
  });
  EXPECT_FALSE(parent_of(trace, "after").valid());
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unmatched), 0u);
}

TEST(RecordFunction, EndsInAnyOrder) {
  const Trace trace = record([] {
    auto first = std::make_unique<record_function>("first");
    auto second = std::make_unique<record_function>("second");
    first.reset();
    {
      SONDE_SCOPE("in second");
    }
    second.reset();
  });
  const SpanId first = find_span(trace, "first");
  const SpanId second = find_span(trace, "second");
  EXPECT_LE(trace.end_ns(first), trace.end_ns(second));
  EXPECT_EQ(parent_of(trace, "in second"), second);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

TEST(RecordFunction, EndsOnAnotherThread) {
  const Trace trace = record([] {
    record_function range("handed over");
    std::thread([moved = std::move(range)]() mutable {
      SONDE_SCOPE("there");
      moved.end();
    }).join();
  });
  const SpanId span = find_span(trace, "handed over");
  EXPECT_EQ(trace.spans().end_track[span], trace.spans().track[find_span(trace, "there")]);
  EXPECT_NE(trace.spans().end_track[span], trace.spans().track[span]);
  EXPECT_NE(trace.spans().flags[span] & SpanFlags::kAsync, 0);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

TEST(RecordFunction, EndsOnceHoweverOftenItIsMoved) {
  const Trace trace = record([] {
    record_function a("a");
    record_function b(std::move(a));
    record_function c("c");
    c = std::move(b);
  });
  EXPECT_EQ(trace.spans().size(), 2u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unmatched), 0u);
}

TEST(RecordFunction, EndsItsRangeWhereAnotherIsAssigned) {
  const Trace trace = record([] {
    record_function range("first");
    record_function second("second");
    range = std::move(second);
    SONDE_SCOPE("after");
  });
  const Nanos after = trace.spans().start_ns[find_span(trace, "after")];
  EXPECT_LE(trace.end_ns(find_span(trace, "first")), after);
  EXPECT_GE(trace.end_ns(find_span(trace, "second")), after);
}

TEST(RecordFunction, KeepsItsRangeWhenAssignedToItself) {
  const Trace trace = record([] {
    record_function range("range");
    record_function& same = range;
    range = std::move(same);
    SONDE_SCOPE("inside");
  });
  EXPECT_EQ(parent_of(trace, "inside"), find_span(trace, "range"));
  EXPECT_GE(trace.end_ns(find_span(trace, "range")), trace.end_ns(find_span(trace, "inside")));
}

TEST(RecordFunction, KeepsTheTextThatGoesWithIt) {
  const std::string long_text(20'000, 'y');
  const Trace trace = record([&] {
    const record_function range("with text", "x = \"1\"");
    const record_function other("with a long one", long_text);
  });
  ASSERT_EQ(trace.extras().size(), 2u);
  EXPECT_EQ(trace.extras().of_row[0], find_span(trace, "with text").index());
  EXPECT_EQ(trace.string(trace.extras().value[0]), R"("x = \"1\"")");
  EXPECT_EQ(trace.string(trace.extras().value[1]), '"' + long_text + '"');
}

TEST(RecordFunction, KeepsNamesOfAnyBytes) {
  const std::string odd("zero \0 high \xff quote \"", 22);
  const Trace trace = record([&] {
    const record_function a(odd);
    const record_function b("");
  });
  EXPECT_EQ(count_spans(trace, odd), 1u);
  EXPECT_EQ(count_spans(trace, ""), 1u);
}

// Kernels of real libraries have names of more than 5,000 bytes.
TEST(RecordFunction, KeepsLongNamesWhole) {
  const std::string name(20'000, 'n');
  const Trace trace = record([&] { const record_function range(name); });
  EXPECT_EQ(count_spans(trace, name), 1u);
}

TEST(RecordFunction, TakesMoreNamesThanFitAWordsNumber) {
  constexpr int kNames = 70'000;
  const Trace trace = record([] {
    for (int i = 0; i < kNames; ++i) const record_function range("name " + std::to_string(i));
  });
  std::set<std::string_view> names;
  for (const SpanId span : trace.all_spans()) names.insert(trace.name(span));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kNames));
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Undecodable), 0u);
}

TEST(Site, MayBeOneOfMoreThanFitAWordsNumber) {
  constexpr std::uint32_t kSites = 70'000;
  static std::vector<Site> sites(kSites, {"site", "f", "a.cpp", 0, 0});
  for (std::uint32_t i = 0; i < kSites; ++i) sites[i].line = i + 1;
  const Trace trace = record([&] {
    for (Site& site : sites) const Scope scope(site);
    Laps laps;
    laps.next(sites[0]);
    laps.next(sites[kSites - 1]);
    laps.next(sites[0]);
  });
  ASSERT_EQ(trace.spans().size(), kSites + 3u);
  std::set<std::int32_t> lines;
  for (const SpanId span : trace.all_spans()) lines.insert(trace.spans().source_line[span]);
  EXPECT_EQ(lines.size(), kSites);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Undecodable), 0u);
}

TEST(AsyncScope, GoesFromThreadToThreadOutsideTheirNesting) {
  const Trace trace = record([] {
    SONDE_SCOPE("caller");
    AsyncScope request = SONDE_ASYNC("request");
    SONDE_SCOPE("called");
    std::thread([moved = std::move(request)]() mutable {
      SONDE_SCOPE("answer");
      moved.end();
    }).join();
  });
  const SpanId request = find_span(trace, "request");
  EXPECT_FALSE(trace.spans().parent[request].valid());
  EXPECT_EQ(parent_of(trace, "called"), find_span(trace, "caller"));
  EXPECT_EQ(trace.spans().end_track[request], trace.spans().track[find_span(trace, "answer")]);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

TEST(AsyncScope, EndsWhereAnotherIsAssigned) {
  const Trace trace = record([] {
    AsyncScope request = SONDE_ASYNC("first");
    AsyncScope second = SONDE_ASYNC("second");
    request = std::move(second);
    SONDE_SCOPE("after");
  });
  const Nanos after = trace.spans().start_ns[find_span(trace, "after")];
  EXPECT_LE(trace.end_ns(find_span(trace, "first")), after);
  EXPECT_GE(trace.end_ns(find_span(trace, "second")), after);
}

TEST(AsyncScope, MayOverlapOthersOfItsName) {
  const Trace trace = record([] {
    std::vector<AsyncScope> open;
    for (int i = 0; i < 10; ++i) open.push_back(SONDE_ASYNC("request"));
    for (AsyncScope& scope : open) scope.end();
  });
  EXPECT_EQ(count_spans(trace, "request"), 10u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

TEST(Recorded, ReturnsWhatTheCallableReturns) {
  int calls = 0;
  const Trace trace = record([&] {
    EXPECT_EQ(recorded("value", [] { return 7; }), 7);
    recorded("nothing", [&] { ++calls; });
    EXPECT_EQ(&recorded("reference", [&]() -> int& { return calls; }), &calls);
    SONDE_SCOPE("after");
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(count_spans(trace, "value") + count_spans(trace, "nothing"), 2u);
  EXPECT_LE(trace.end_ns(find_span(trace, "reference")),
            trace.spans().start_ns[find_span(trace, "after")]);
}

using Arguments = std::map<std::string, std::string>;

// The arguments of a row, by key.
Arguments arguments_of(const Trace& trace, TableKind table, std::size_t row) {
  Arguments found;
  for (std::size_t i = 0; i < trace.extras().size(); ++i) {
    if (trace.extras().of_table[i] != table || trace.extras().of_row[i] != row) continue;
    found[std::string(trace.string(trace.extras().key[i]))] = trace.string(trace.extras().value[i]);
  }
  return found;
}
Arguments arguments_of(const Trace& trace, std::string_view span) {
  return arguments_of(trace, TableKind::Spans, find_span(trace, span).index());
}

enum class Colour : std::int8_t { Red = -2 };

TEST(Arguments, KeepTheirTypesAndValues) {
  const std::string path = "a \"b\"\n";
  const char* const none = nullptr;
  const Trace trace = record([&] {
    SONDE_SCOPE("numbers", "least", std::numeric_limits<std::int64_t>::min(), "most",
                std::numeric_limits<std::uint64_t>::max(), "third", 1.0 / 3, "one", 1.0, "float",
                0.5F, "yes", true, "no", false, "colour", Colour::Red);
    SONDE_SCOPE("texts", "string", path, "view", std::string_view("x\0y", 3), "literal", "abc",
                "none", none, "empty", "");
    SONDE_SCOPE("odd numbers", "nan", std::nan(""), "inf", -HUGE_VAL);
  });
  EXPECT_EQ(arguments_of(trace, "numbers"), (Arguments{{"least", "-9223372036854775808"},
                                                       {"most", "18446744073709551615"},
                                                       {"third", "0.3333333333333333"},
                                                       {"one", "1.0"},
                                                       {"float", "0.5"},
                                                       {"yes", "true"},
                                                       {"no", "false"},
                                                       {"colour", "-2"}}));
  EXPECT_EQ(arguments_of(trace, "texts"), (Arguments{{"string", "\"a \\\"b\\\"\\n\""},
                                                     {"view", R"("x\u0000y")"},
                                                     {"literal", R"("abc")"},
                                                     {"none", "\"(null)\""},
                                                     {"empty", R"("")"}}));
  EXPECT_EQ(arguments_of(trace, "odd numbers"),
            (Arguments{{"nan", R"("NaN")"}, {"inf", R"("-inf")"}}));
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Undecodable), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::TextsCut), 0u);
}

// As the source of operators records what torch tells of a collective of NCCL.
TEST(Arguments, OfACollectiveAreARowOfTheCollectives) {
  const Trace trace = record([] {
    constexpr std::string_view kName = "record_param_comms";
    for (const std::int64_t elements : {4, 8}) {
      const sonde_op op = {sizeof(op), sonde_name(kName.data(), kName.size()), 0, -1, 0, 0};
      ASSERT_NE(sonde_op_begin(&op), 0);
      sonde_arg_text("name", "allreduce", 9);
      sonde_arg_int("in_elements", elements);
      sonde_arg_text("group_ranks", "[0, 1]", 6);
      sonde_arg_int("is_async", 1);
      sonde_arg_text("in_split", "", 0);
      sonde_arg_int("unknown", 3);
      sonde_end();
    }
  });
  const CollectiveTable& rows = trace.collectives();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(trace.name(rows.span[1]), "record_param_comms");
  EXPECT_EQ(trace.string(rows.name[0]), "allreduce");
  EXPECT_EQ(rows.in_elements[0], 4);
  EXPECT_EQ(rows.in_elements[1], 8);
  EXPECT_EQ(rows.out_elements[1], -1);
  EXPECT_EQ(trace.string(rows.group_ranks[1]), "[0, 1]");
  EXPECT_EQ(rows.is_async[0], 1);
  EXPECT_EQ(arguments_of(trace, TableKind::Spans, rows.span[0].index()),
            (Arguments{{"unknown", "3"}}));
}

void function_with_arguments(int batch) {
  SONDE_FUNCTION("batch", batch, SONDE_CATEGORY, "io");
}

TEST(Arguments, BelongToWhatTheyStandIn) {
  const Trace trace = record([] {
    SONDE_SCOPE("outer", "depth", 0);
    {
      SONDE_SCOPE("inner", "depth", 1);
    }
    function_with_arguments(3);
    SONDE_INSTANT("moment", "at", 2);
    const record_function range("range", "step", 4u, "name", std::string("x"));
    SONDE_SCOPE("bare");
  });
  EXPECT_EQ(arguments_of(trace, "outer"), (Arguments{{"depth", "0"}}));
  EXPECT_EQ(arguments_of(trace, "inner"), (Arguments{{"depth", "1"}}));
  EXPECT_EQ(arguments_of(trace, "function_with_arguments"), (Arguments{{"batch", "3"}}));
  EXPECT_EQ(arguments_of(trace, TableKind::Instants, 0), (Arguments{{"at", "2"}}));
  EXPECT_EQ(arguments_of(trace, "range"), (Arguments{{"step", "4"}, {"name", R"("x")"}}));
  EXPECT_EQ(arguments_of(trace, "bare"), Arguments{});
}

TEST(Arguments, GiveACategory) {
  const std::string made = "made at run time";
  const Trace trace = record([&] {
    SONDE_SCOPE("scope", SONDE_CATEGORY, "io", "batch", 1);
    const record_function range("range", SONDE_CATEGORY, made);
    SONDE_INSTANT("moment", SONDE_CATEGORY, "net");
    SONDE_SCOPE("bare");
  });
  const auto category = [&](std::string_view name) {
    return trace.string(trace.spans().category[find_span(trace, name)]);
  };
  EXPECT_EQ(category("scope"), "io");
  EXPECT_EQ(category("range"), made);
  EXPECT_EQ(category("bare"), "");
  EXPECT_EQ(trace.string(trace.instants().category[0]), "net");
  EXPECT_EQ(arguments_of(trace, "scope"), (Arguments{{"batch", "1"}}));
}

TEST(Arguments, AreEvaluatedOnlyWhileSomethingRecords) {
  int looks = 0;
  const auto look = [&looks] { return ++looks; };
  const auto work = [&] {
    SONDE_SCOPE("scope", "looks", look());
    SONDE_INSTANT("moment", "looks", look());
  };
  work();
  EXPECT_EQ(looks, 0);
  record(work);
  EXPECT_EQ(looks, 2);
}

TEST(Arguments, AreKeptWholeHoweverManyRecordsTheyTake) {
  const std::string big(30'000, 'b');
  const std::string half(4'000, 'h');
  const Trace trace = record([&] {
    SONDE_SCOPE("scope", "a", half, "b", half, "c", half, "big", big, "last", 7);
    const record_function other("other", "big", big);
  });
  EXPECT_EQ(arguments_of(trace, "scope"), (Arguments{{"a", '"' + half + '"'},
                                                     {"b", '"' + half + '"'},
                                                     {"c", '"' + half + '"'},
                                                     {"big", '"' + big + '"'},
                                                     {"last", "7"}}));
  EXPECT_EQ(arguments_of(trace, "other"), (Arguments{{"big", '"' + big + '"'}}));
  EXPECT_EQ(ledger_sum(trace, LedgerKind::TextsCut), 0u);
}

TEST(Texts, ThatAreTooLongAreCutAndCounted) {
  const std::string text(100'000, 't');
  const std::string kept = text.substr(0, detail::kMaxTextBytes);
  const Trace trace = record([&] {
    const record_function name("cut " + text);
    const record_function with_text("with text", text);
    SONDE_SCOPE("scope", "text", text);
  });
  EXPECT_EQ(arguments_of(trace, "with text"), (Arguments{{"args", '"' + kept + '"'}}));
  EXPECT_EQ(arguments_of(trace, "scope"), (Arguments{{"text", '"' + kept + '"'}}));
  EXPECT_EQ(count_spans(trace, ("cut " + text).substr(0, detail::kMaxTextBytes)), 1u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::TextsCut), 3u);
}

TEST(CInterface, RecordsArguments) {
  static sonde_site site = {"c scope", "f", "a.c", 1, 0};
  const Trace trace = record([] {
    ASSERT_EQ(sonde_begin(&site), 1);
    sonde_arg_int("int", -1);
    sonde_arg_uint("uint", 2);
    sonde_arg_double("double", 2.5);
    sonde_arg_bool("bool", 5);
    sonde_arg_text("text", "abc", 2);
    sonde_category("io");
    sonde_end();
  });
  EXPECT_EQ(
      arguments_of(trace, "c scope"),
      (Arguments{
          {"int", "-1"}, {"uint", "2"}, {"double", "2.5"}, {"bool", "true"}, {"text", R"("ab")"}}));
  EXPECT_EQ(trace.string(trace.spans().category[find_span(trace, "c scope")]), "io");
  sonde_arg_int("nothing records", 1);
}

TEST(Flow, LeadsFromTheSpanItLeavesToTheOneItReaches) {
  const Trace trace = record([] {
    const Flow flow;
    {
      SONDE_SCOPE("sender");
      flow.out();
    }
    std::thread([flow] {
      SONDE_SCOPE("receiver");
      flow.in();
    }).join();
  });
  ASSERT_EQ(trace.flows().size(), 1u);
  EXPECT_EQ(trace.flows().from_span[0], find_span(trace, "sender"));
  EXPECT_EQ(trace.flows().to_span[0], find_span(trace, "receiver"));
}

TEST(Moments, StandInTheSpanAroundThem) {
  const Trace trace = record([] {
    SONDE_INSTANT("alone");
    SONDE_SCOPE("scope");
    SONDE_INSTANT("inside");
    SONDE_COUNTER("loss", 0.25);
    SONDE_COUNTER("loss", -3);
  });
  ASSERT_EQ(trace.instants().size(), 2u);
  EXPECT_FALSE(trace.instants().span[0].valid());
  EXPECT_EQ(trace.instants().span[1], find_span(trace, "scope"));
  ASSERT_EQ(trace.counters().size(), 2u);
  EXPECT_EQ(trace.counters().value[0], 0.25);
  EXPECT_EQ(trace.counters().value[1], -3.0);
}

// A signal handler runs in the middle of a record: the thread may hold the dictionary's lock.
TEST(Moments, OfAHandlerThatInterruptsTheRecorderDoNotTouchTheDictionary) {
  static sonde_site instant = SONDE_SITE("never seen before");
  static sonde_site counter = SONDE_SITE("nor this");
  const Trace trace = record([] {
    {
      SONDE_SCOPE("first");
    }
    detail::sonde_detail_cursor.busy = detail::kBusy;
    sonde_instant(&instant);
    sonde_counter(&counter, 1);
    EXPECT_EQ(sonde_range_begin("name", 4).position, 0u);
    detail::sonde_detail_cursor.busy = 0;
    EXPECT_EQ(instant.id, 0u);
    EXPECT_EQ(counter.id, 0u);
  });
  EXPECT_EQ(trace.instants().size(), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedInSignal), 3u);
}

TEST(Idle, RecordsNothingAndAsksForNoValue) {
  const auto session = open_session({});
  static sonde_site site = SONDE_SITE("idle");
  EXPECT_FALSE(is_recording());
  EXPECT_EQ(sonde_begin(&site), 0);
  EXPECT_EQ(sonde_range_begin("idle", 4).position, 0u);
  EXPECT_EQ(sonde_async_begin(&site), 0u);
  sonde_instant(&site);
  sonde_text("x", 1);
  int asked = 0;
  SONDE_COUNTER("idle", ++asked);
  {
    SONDE_SCOPE("idle");
    const record_function range("idle");
    Laps laps;
    SONDE_LAP(laps, "idle");
    const Flow flow;
    flow.out();
  }
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(site.id, 0u);
  const Trace trace = testing::record_window(*session, [] { SONDE_SCOPE("busy"); });
  EXPECT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(trace.flows().size() + trace.counters().size() + trace.instants().size(), 0u);
}

TEST(Idle, LetsWhatWasBegunEndAfterTheSession) {
  auto session = open_session({});
  ASSERT_TRUE(session->begin_window(0));
  {
    SONDE_SCOPE("scope");
    const record_function range("range");
    const AsyncScope request = SONDE_ASYNC("request");
    Laps laps;
    SONDE_LAP(laps, "lap");
    ASSERT_TRUE(session->close());
    session.reset();
    SONDE_LAP(laps, "too late");
  }
  const Trace next = record([] { SONDE_SCOPE("next"); });
  ASSERT_EQ(next.spans().size(), 1u);
  EXPECT_FALSE(next.spans().parent[0].valid());
}

TEST(Idle, LetsWhatOneSessionSawBegunEndInTheNext) {
  Trace trace;
  {
    auto first = open_session({});
    ASSERT_TRUE(first->begin_window(0));
    SONDE_SCOPE("of the first");
    const record_function range("of the first");
    ASSERT_TRUE(first->close());
    const auto second = open_session({});
    ASSERT_TRUE(second->begin_window(0));
    {
      SONDE_SCOPE("of the second");
    }
    second->end_window();
    auto read = second->read_window(0);
    ASSERT_TRUE(read);
    trace = *read;
  }
  ASSERT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unmatched), 0u);
}

TEST(PlainC, RecordsScopesLapsAndRanges) {
  static sonde_site outer = SONDE_SITE("outer");
  static sonde_site lap = SONDE_SITE("lap");
  const Trace trace = record([] {
    ASSERT_NE(sonde_is_recording(), 0);
    ASSERT_EQ(sonde_begin(&outer), 1);
    ASSERT_EQ(sonde_begin(&lap), 1);
    ASSERT_EQ(sonde_lap(&lap), 1);
    const sonde_range range = sonde_range_begin("range and more", 5);
    sonde_end();
    sonde_end();
    sonde_range_end(range);
    sonde_range_end({0, 0});
    sonde_async_end(0);
  });
  EXPECT_EQ(count_spans(trace, "lap"), 2u);
  EXPECT_EQ(parent_of(trace, "lap"), find_span(trace, "outer"));
  EXPECT_EQ(trace.spans().kind[find_span(trace, "range")], SpanKind::UserAnnotation);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unmatched), 0u);
}

}  // namespace
}  // namespace sonde
