// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include "collect/testing/recorded.h"
#include "file/trace_file.h"
#include "sonde/record.h"
#include "sonde/source/source.h"
#include "trace/known_names.h"
#include "trace/testing/deep.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::count_spans;
using testing::find_span;
using testing::ledger_sum;
using testing::open_session;
using testing::record_window;
using testing::TempDir;

// Waits until the clock shows a later time, or one later by `by`.
void let_the_clock_go_on(std::chrono::nanoseconds by = std::chrono::nanoseconds(1)) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begin + by) std::this_thread::yield();
}

// Waits until the drainer has written everything recorded so far: it serves all sessions in turn.
void let_the_drainer_catch_up() {
  const auto another = open_session({});
  record_window(*another, [] {});
}

TEST(Session, RecordsTheScopesOfAWindowAndNoOthers) {
  const auto session = open_session({});
  {
    SONDE_SCOPE("before");
  }
  const Trace trace = record_window(*session, [] {
    SONDE_SCOPE("outer");
    SONDE_SCOPE("inner");
  });
  {
    SONDE_SCOPE("after");
  }
  ASSERT_EQ(trace.spans().size(), 2u);
  const SpanId outer = find_span(trace, "outer");
  const SpanId inner = find_span(trace, "inner");
  EXPECT_EQ(trace.spans().parent[inner], outer);
  EXPECT_LE(trace.spans().start_ns[outer], trace.spans().start_ns[inner]);
  EXPECT_GE(trace.end_ns(outer), trace.end_ns(inner));
  EXPECT_EQ(trace.string(trace.spans().source_function[inner]), "operator()");
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::EventsWritten), 4u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Truncated), 0u);
}

TEST(Session, TellsTimesOnTheSystemsClock) {
  const auto session = open_session({});
  const auto before = std::chrono::system_clock::now().time_since_epoch();
  const Trace trace = record_window(*session, [] {
    SONDE_SCOPE("five");
    let_the_clock_go_on(std::chrono::milliseconds(5));
  });
  const auto after = std::chrono::system_clock::now().time_since_epoch();
  const SpanId span = find_span(trace, "five");
  constexpr std::int64_t kSlackNs = 1'000'000;
  EXPECT_GE(trace.spans().start_ns[span], std::chrono::nanoseconds(before).count() - kSlackNs);
  EXPECT_LE(trace.end_ns(span), std::chrono::nanoseconds(after).count() + kSlackNs);
  EXPECT_GE(trace.spans().duration_ns[span], 5'000'000);
}

TEST(Session, KeepsItsWindowsApart) {
  const auto session = open_session({});
  const Trace first = record_window(*session, [] { SONDE_SCOPE("one"); }, 10);
  {
    SONDE_SCOPE("between");
  }
  const Trace second = record_window(*session, [] { SONDE_SCOPE("two"); }, 20);
  EXPECT_EQ(first.spans().size(), 1u);
  EXPECT_EQ(second.spans().size(), 1u);
  EXPECT_EQ(second.name(SpanId(0)), "two");
  const auto all = session->read_all();
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->windows().size(), 2u);
  EXPECT_EQ(all->windows().first_step[1], 20);
  EXPECT_EQ(all->spans().window[find_span(*all, "one")], WindowId(0));
  EXPECT_EQ(all->spans().window[find_span(*all, "two")], WindowId(1));
  EXPECT_EQ(count_spans(*all, "between"), 0u);
}

// The drainer finds the second window open, or ended, when it first looks at the first. Nobody
// records in the second, so nothing else makes it read the buffers again.
TEST(Session, KeepsWhatWasRecordedJustBeforeTheNextWindowBegan) {
  for (int i = 0; i < 50; ++i) {
    const auto session = open_session({});
    ASSERT_TRUE(session->begin_window(0));
    {
      SONDE_SCOPE("one");
    }
    session->end_window();
    ASSERT_TRUE(session->begin_window(1));
    const auto first = session->read_window(0);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(count_spans(*first, "one"), 1u);
    session->end_window();
    const auto all = session->read_all();
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(count_spans(*all, "one"), 1u);
  }
}

TEST(Session, MayOverlapAndNestWithOthers) {
  const auto outer = open_session({});
  const auto inner = open_session({});
  ASSERT_TRUE(outer->begin_window(0));
  {
    SONDE_SCOPE("outer only");
  }
  let_the_clock_go_on();
  ASSERT_TRUE(inner->begin_window(0));
  {
    SONDE_SCOPE("both");
  }
  outer->end_window();
  let_the_clock_go_on();
  {
    SONDE_SCOPE("inner only");
  }
  inner->end_window();
  const auto first = outer->read_window(0);
  const auto second = inner->read_window(0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(count_spans(*first, "outer only"), 1u);
  EXPECT_EQ(count_spans(*first, "both"), 1u);
  EXPECT_EQ(count_spans(*first, "inner only"), 0u);
  EXPECT_EQ(count_spans(*second, "outer only"), 0u);
  EXPECT_EQ(count_spans(*second, "both"), 1u);
  EXPECT_EQ(count_spans(*second, "inner only"), 1u);
}

TEST(Session, StartsAndStopsOnDifferentThreads) {
  const auto session = open_session({});
  std::thread([&] { ASSERT_TRUE(session->begin_window(0)); }).join();
  {
    SONDE_SCOPE("here");
  }
  std::thread([&] { session->end_window(); }).join();
  const auto trace = session->read_window(0);
  ASSERT_TRUE(trace);
  EXPECT_EQ(count_spans(*trace, "here"), 1u);
}

TEST(Session, ShowsWhatIsOpenAtTheEndAsUnfinished) {
  const auto session = open_session({});
  ASSERT_TRUE(session->begin_window(0));
  Trace trace;
  {
    SONDE_SCOPE("open");
    let_the_clock_go_on();
    session->end_window();
    let_the_clock_go_on();
    auto read = session->read_window(0);
    ASSERT_TRUE(read);
    trace = *read;
  }
  const SpanId span = find_span(trace, "open");
  EXPECT_NE(trace.spans().flags[span] & SpanFlags::kUnfinished, 0);
  EXPECT_EQ(trace.end_ns(span), trace.windows().end_ns[0]);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 1u);
  // A span is written again when its end is known. Here the end came too late, and the span reads
  // the same.
  const auto later = session->read_window(0);
  ASSERT_TRUE(later);
  EXPECT_NE(later->spans().flags[find_span(*later, "open")] & SpanFlags::kUnfinished, 0);
}

TEST(Session, RecordsThreadsThatComeAndGoByTheThousand) {
  constexpr int kThreads = 3000;
  const auto session = open_session({});
  const Trace trace = record_window(*session, [] {
    for (int i = 0; i < kThreads; i += 10) {
      std::vector<std::thread> threads;
      for (int k = 0; k < 10; ++k) {
        threads.emplace_back([] {
          SONDE_SCOPE("short life");
          SONDE_SCOPE("inner");
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
  });
  EXPECT_EQ(count_spans(trace, "short life"), static_cast<std::size_t>(kThreads));
  EXPECT_EQ(trace.tracks().size(), static_cast<std::size_t>(kThreads));
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
}

TEST(Session, LetsThreadsOutliveItAndRecordAgainInTheNext) {
  std::atomic<int> turn{0};
  std::thread worker([&] {
    for (int expected = 1; expected <= 3; expected += 2) {
      while (turn.load() != expected) std::this_thread::yield();
      {
        SONDE_SCOPE("worker");
      }
      turn.store(expected + 1);
    }
  });
  for (int round = 0; round < 2; ++round) {
    const auto session = open_session({});
    const Trace trace = record_window(*session, [&] {
      turn.store(round * 2 + 1);
      while (turn.load() != round * 2 + 2) std::this_thread::yield();
    });
    EXPECT_EQ(count_spans(trace, "worker"), 1u);
    ASSERT_TRUE(session->close());
  }
  worker.join();
}

TEST(Session, NamesItsThreads) {
  const auto session = open_session({});
  const Trace trace = record_window(*session, [] {
    std::thread([] {
      {
        SONDE_SCOPE("early");
      }
      ::pthread_setname_np(::pthread_self(), "late-name");
      SONDE_SCOPE("work");
    }).join();
  });
  const TrackId track = trace.spans().track[find_span(trace, "work")];
  EXPECT_EQ(trace.string(trace.tracks().name[track]), "late-name");
}

TEST(Session, RecordsOnlyTheThreadsAskedFor) {
  SessionOptions options;
  options.only_thread_names = {"chosen"};
  options.only_thread_ids = {::syscall(SYS_gettid)};
  const auto session = open_session(options);
  const Trace trace = record_window(*session, [] {
    {
      SONDE_SCOPE("main");
    }
    for (const char* name : {"chosen", "other"}) {
      std::thread([name] {
        ::pthread_setname_np(::pthread_self(), name);
        SONDE_SCOPE("work");
      }).join();
    }
  });
  EXPECT_EQ(count_spans(trace, "main"), 1u);
  EXPECT_EQ(count_spans(trace, "work"), 1u);
}

TEST(Session, StoresMetadataAndRefusesWhatIsNotJson) {
  const auto session = open_session({});
  ASSERT_TRUE(session->set_metadata("model", "\"old\""));
  ASSERT_TRUE(session->set_metadata("model", R"({"layers": 12})"));
  const auto refused = session->set_metadata("broken", "{layers: 12}");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("metadata \"broken\": not JSON"));
  const Trace trace = record_window(*session, [] {});
  ASSERT_EQ(trace.metadata().size(), 1u);
  EXPECT_EQ(trace.string(trace.metadata().value[0]), R"({"layers": 12})");
}

TEST(Session, LeavesAWholeFileAndNoLiveBuffers) {
  const TempDir dir;
  const std::string path = dir.file("run.sonde");
  {
    const auto session = open_session({.output = path});
    record_window(*session, [] { SONDE_SCOPE("work"); });
    EXPECT_TRUE(std::filesystem::exists(path + ".live"));
    ASSERT_TRUE(session->close());
    ASSERT_TRUE(session->close()) << "closing twice is nothing";
    EXPECT_FALSE(session->begin_window(0));
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".live"));
  const auto trace = open_sonde(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(count_spans(*trace, "work"), 1u);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::Truncated), 0u);
  EXPECT_EQ(ledger_sum(*trace, LedgerKind::EventsWritten), 2u);
  EXPECT_GT(ledger_sum(*trace, LedgerKind::DrainerNs), 0u);
}

// In such a file system, reserving a block takes memory.
TEST(Session, TakesLittleOfADiskThatIsMemory) {
  struct statfs disk = {};
  if (::statfs("/dev/shm", &disk) != 0 || disk.f_type != TMPFS_MAGIC)
    GTEST_SKIP() << "/dev/shm is not in memory";
  const std::string path = "/dev/shm/sonde-test-" + std::to_string(::getpid()) + ".sonde";
  const auto session = open_session({.output = path});
  EXPECT_TRUE(session->begin_window(-1));
  {
    SONDE_SCOPE("work");
  }
  struct stat live = {};
  ASSERT_EQ(::stat((path + ".live").c_str(), &live), 0);
  EXPECT_LE(live.st_blocks * 512, 10 << 20);
  EXPECT_TRUE(session->close());
  std::filesystem::remove(path);
}

// The system takes milliseconds longer to end a process whose threads were looked at.
TEST(Session, LeavesTheSchedulerAloneInAShortWindow) {
  const auto session = open_session({});
  const auto has_share = [&] {
    const Trace trace = session->read_all().value();
    const auto& keys = trace.metadata().key;
    for (std::size_t i = 0; i < trace.metadata().size(); ++i)
      if (trace.string(keys[i]) == kProcessorTimeKey) return true;
    return false;
  };
  const auto begin = std::chrono::steady_clock::now();
  record_window(*session, [] { SONDE_SCOPE("work"); });
  const bool was_short = std::chrono::steady_clock::now() < begin + std::chrono::milliseconds(15);
  EXPECT_FALSE(was_short && has_share());
  for (auto time = std::chrono::milliseconds(50); !has_share(); time *= 2) {
    ASSERT_LT(time, std::chrono::seconds(10));
    record_window(*session, [&] { let_the_clock_go_on(time); });
  }
}

TEST(Session, FillsThePatternOfItsName) {
  const TempDir dir;
  const auto session = open_session({.output = dir.file("run-{pid}-{rank}.sonde")});
  EXPECT_EQ(session->path(), dir.file("run-" + std::to_string(::getpid()) + "-none.sonde"));
  const auto unknown = Session::open({.output = dir.file("run-{colour}.sonde")});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, ::testing::HasSubstr("unknown {colour}"));
}

TEST(Session, SaysWhyItsFileCannotBeMade) {
  const auto session = Session::open({.output = "/no/such/folder/run.sonde"});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message,
              ::testing::HasSubstr("/no/such/folder/run.sonde: cannot create: No such file"));
}

// Threads write, and the drainer moves their events from the buffers to the file while both are
// read.
TEST(Session, HasNoGapsWhereItIsOpenedWhileItGrows) {
  const TempDir dir;
  const std::string path = dir.file("growing.sonde");
  const auto session = open_session({.output = path, .budget_bytes = 1u << 20});
  ASSERT_TRUE(session->begin_window(0));
  constexpr int kReads = 20;
  std::atomic<int> reads{0};
  std::thread recording([&] {
    for (int round = 0; round < kReads; ++round) {
      for (int i = 0; i < 3000; ++i) {
        SONDE_SCOPE("outer");
        SONDE_SCOPE("inner");
      }
      reads.wait(round);  // for a while, not at once
    }
  });
  for (std::size_t before = 0; reads < kReads; ++reads, reads.notify_one()) {
    const Result<Trace> trace = open_sonde(path);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(ledger_sum(*trace, LedgerKind::Unmatched), 0u);
    EXPECT_GE(trace->spans().size(), before);
    before = trace->spans().size();
  }
  recording.join();
}

// outer [ inner inner inner … | dropped … ]  pause  [ late late ]
TEST(Session, EndsUnderDropWhereTheBudgetWasSpent) {
  SessionOptions options;
  options.policy = BufferPolicy::Drop;
  options.budget_bytes = 256 << 10;
  const auto session = open_session(options);
  std::chrono::nanoseconds late{};
  const Trace trace = record_window(*session, [&] {
    {
      SONDE_SCOPE("outer");
      for (int i = 0; i < 200'000; ++i) {
        SONDE_SCOPE("inner");
      }
    }
    let_the_drainer_catch_up();
    late = std::chrono::system_clock::now().time_since_epoch();
    for (int i = 0; i < 3; ++i) {
      SONDE_SCOPE("late");
    }
  });
  const SpanId outer = find_span(trace, "outer");
  EXPECT_LT(trace.end_ns(outer), late.count()) << "not up to the end of the window";
  EXPECT_EQ(count_spans(trace, "late"), 0u) << "though they would fit";
  ASSERT_EQ(trace.windows().size(), 1u);
  EXPECT_LT(trace.windows().end_ns[0], late.count());
}

TEST(Session, KeepsTheOldestUnderDropAndCountsTheRest) {
  constexpr std::uint64_t kScopes = 500'000;
  SessionOptions options;
  options.policy = BufferPolicy::Drop;
  options.budget_bytes = 2u << 20;
  const auto session = open_session(options);
  const Trace trace = record_window(*session, [] {
    {
      SONDE_SCOPE("first");
    }
    for (std::uint64_t i = 1; i < kScopes; ++i) {
      SONDE_SCOPE("one of many");
    }
  });
  EXPECT_EQ(count_spans(trace, "first"), 1u);
  EXPECT_LE(trace.spans().size() * 16, options.budget_bytes + 64 * 1024);
  const std::uint64_t written = ledger_sum(trace, LedgerKind::EventsWritten);
  EXPECT_EQ(written + ledger_sum(trace, LedgerKind::DroppedByBudget), kScopes * 2);
}

TEST(Session, KeepsTheNewestUnderRingAndCountsTheRest) {
  constexpr std::uint64_t kScopes = 500'000;
  SessionOptions options;
  options.policy = BufferPolicy::Ring;
  options.budget_bytes = 2u << 20;
  const auto session = open_session(options);
  const Trace trace = record_window(*session, [] {
    {
      SONDE_SCOPE("first");
    }
    for (std::uint64_t i = 2; i < kScopes; ++i) {
      SONDE_SCOPE("one of many");
    }
    {
      SONDE_SCOPE("last");
    }
  });
  EXPECT_EQ(count_spans(trace, "first"), 0u);
  EXPECT_EQ(count_spans(trace, "last"), 1u);
  EXPECT_GT(trace.spans().size(), 50'000u);
  EXPECT_EQ(
      ledger_sum(trace, LedgerKind::EventsWritten) + ledger_sum(trace, LedgerKind::Overwritten),
      kScopes * 2);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget), 0u);
}

TEST(Session, AccountsForEveryScopeUnderSpillWithHardlyAnyMemory) {
  constexpr std::uint64_t kScopes = 300'000;
  SessionOptions options;
  options.budget_bytes = 1u << 20;
  const auto session = open_session(options);
  const Trace trace = record_window(*session, [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (std::uint64_t i = 0; i < kScopes; ++i) {
          SONDE_SCOPE("outer");
          SONDE_SCOPE("inner");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(trace.spans().size() * 2 + ledger_sum(trace, LedgerKind::DroppedByBudget, "spans"),
            2 * 4 * 2 * kScopes);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished),
            ledger_sum(trace, LedgerKind::DroppedByBudget, "ends"));
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unmatched), 0u);
}

TEST(Session, TakesASnapshotOfARingThatGoesOn) {
  const TempDir dir;
  SessionOptions options;
  options.policy = BufferPolicy::Ring;
  const auto session = open_session(options);
  ASSERT_TRUE(session->begin_window(3));
  {
    SONDE_SCOPE("before");
  }
  ASSERT_TRUE(session->snapshot({.path = dir.file("now.sonde")}));
  {
    SONDE_SCOPE("after");
  }
  session->end_window();
  const auto snapshot = open_sonde(dir.file("now.sonde"));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(count_spans(*snapshot, "before"), 1u);
  EXPECT_EQ(count_spans(*snapshot, "after"), 0u);
  EXPECT_EQ(snapshot->windows().first_step[0], 3);
  const auto whole = session->read_window(0);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->spans().size(), 2u);
  EXPECT_FALSE(open_session({})->snapshot({.path = dir.file("no.sonde")}));
}

TEST(Session, LosesNothingWhenARingAndASpillOverlap) {
  SessionOptions ring_options;
  ring_options.policy = BufferPolicy::Ring;
  ring_options.budget_bytes = 8u << 20;
  const auto ring = open_session(ring_options);
  ASSERT_TRUE(ring->begin_window(0));
  {
    SONDE_SCOPE("ring alone");
  }
  const auto spill = open_session({});
  const Trace both = record_window(*spill, [] {
    for (int i = 0; i < 20'000; ++i) {
      SONDE_SCOPE("both");
    }
  });
  {
    SONDE_SCOPE("ring alone");
  }
  ring->end_window();
  const auto trace = ring->read_window(0);
  ASSERT_TRUE(trace);
  EXPECT_EQ(count_spans(both, "both"), 20'000u);
  EXPECT_EQ(count_spans(*trace, "both"), 20'000u);
  EXPECT_EQ(count_spans(*trace, "ring alone"), 2u);
}

// A source that logs its calls.
class FakeSource : public Source {
 public:
  std::string name() const override { return "fake"; }
  Activity activity() const override { return Activity::PrivateUse1; }
  Result<void> prepare(const RecordOptions& wanted) override {
    shapes = wanted.record_shapes;
    if (fails) return Failure(ErrorCode::Unsupported, "no such device");
    return {};
  }
  void start() override { calls += "start "; }
  void stop() override { calls += "stop "; }

  bool fails = false;
  bool shapes = false;
  std::string calls;
};

TEST(Session, TellsItsSourcesOfWindows) {
  const auto source = std::make_shared<FakeSource>();
  add_source(source);
  SessionOptions options;
  options.record.activities = {Activity::Cpu, Activity::PrivateUse1};
  options.record.record_shapes = true;
  const auto session = open_session(options);
  record_window(*session, [] {});
  record_window(*session, [] {});
  remove_source(*source);
  EXPECT_TRUE(source->shapes);
  EXPECT_EQ(source->calls, "start stop start stop ");
}

// with shapes     [--]                  [-------------]
// without                 [--]    [-------------------------]
TEST(Session, HasItsSourcesServeAllSessionsThatRecordAndNoOthers) {
  const auto source = std::make_shared<FakeSource>();
  add_source(source);
  SessionOptions options;
  options.record.activities = {Activity::PrivateUse1};
  const auto plain = open_session(options);
  options.record.record_shapes = true;
  const auto with_shapes = open_session(options);
  record_window(*with_shapes, [&] { EXPECT_TRUE(source->shapes); });
  record_window(*plain, [&] { EXPECT_FALSE(source->shapes); });
  record_window(*plain, [&] {
    EXPECT_FALSE(source->shapes);
    record_window(*with_shapes, [&] { EXPECT_TRUE(source->shapes); });
    EXPECT_FALSE(source->shapes);
    ASSERT_TRUE(with_shapes->begin_window(0));
  });
  EXPECT_TRUE(source->shapes);
  with_shapes->end_window();
  record_window(*with_shapes, [&] { EXPECT_TRUE(source->shapes) << "also without news"; });
  remove_source(*source);
}

TEST(Session, AsksForShapesToCountFlops) {
  const auto source = std::make_shared<FakeSource>();
  add_source(source);
  SessionOptions options;
  options.record.with_flops = true;
  const auto session = open_session(options);
  EXPECT_TRUE(source->shapes);
  source->shapes = false;
  record_window(*session, [] {});
  EXPECT_TRUE(source->shapes);
  remove_source(*source);
}

TEST(Session, AsksOnlySourcesOfTheActivitiesWanted) {
  const auto source = std::make_shared<FakeSource>();
  add_source(source);
  SessionOptions options;
  options.record.activities = {Activity::Cpu};
  options.record.record_shapes = true;
  record_window(*open_session(options), [] {});
  remove_source(*source);
  EXPECT_FALSE(source->shapes);
  EXPECT_EQ(source->calls, "");
}

TEST(Session, GoesOnWithoutASourceThatFailsAndSaysSo) {
  const auto source = std::make_shared<FakeSource>();
  source->fails = true;
  add_source(source);
  SessionOptions options;
  options.record.activities = {Activity::PrivateUse1};
  const auto session = open_session(options);
  const Trace trace = record_window(*session, [] { SONDE_SCOPE("work"); });
  remove_source(*source);
  EXPECT_EQ(count_spans(trace, "work"), 1u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::SourceFailed), 1u);
  EXPECT_EQ(source->calls, "");
}

TEST(Session, SaysWhenNothingRecordsAnActivityAskedFor) {
  SessionOptions options;
  options.record.activities = {Activity::Cpu, Activity::Cuda};
  const auto session = open_session(options);
  const Trace trace = record_window(*session, [] {});
  EXPECT_EQ(
      ledger_sum(trace, LedgerKind::SourceFailed, "cuda: nothing in this program can record it"),
      1u);
}

TEST(Session, NamesEveryActivityByItsOwnName) {
  SessionOptions options;
  options.record.activities = {Activity::Hpu, Activity::Mtia, Activity::PrivateUse1};
  const Trace trace = record_window(*open_session(options), [] {});
  for (const std::string name : {"hpu", "mtia", "privateuse1"}) {
    EXPECT_EQ(ledger_sum(trace, LedgerKind::SourceFailed,
                         name + ": nothing in this program can record it"),
              1u)
        << name;
  }
}

TEST(Session, RefusesAFileThatAnotherSessionRecordsTo) {
  const TempDir dir;
  const auto first = open_session({.output = dir.file("run.sonde")});
  const auto second = Session::open({.output = dir.file("run.sonde")});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, ::testing::HasSubstr("run.sonde: is being recorded to"));
  record_window(*first, [] { SONDE_SCOPE("work"); });
  ASSERT_TRUE(first->close());
  const auto trace = open_sonde(dir.file("run.sonde"));
  ASSERT_TRUE(trace);
  EXPECT_EQ(count_spans(*trace, "work"), 1u);
}

TEST(Session, HasEverythingUpToItsEndWhileOthersGoOnRecording) {
  const auto other = open_session({});
  ASSERT_TRUE(other->begin_window(0));
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> counted{0};
  std::atomic<std::int64_t> allowed{0};
  std::thread worker([&] {
    for (std::int64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
      SONDE_COUNTER("i", i);
      counted.store(i, std::memory_order_release);
      // Continues while a window ends, but gives the drainer only as much work as a test should
      // take.
      for (std::int64_t most = allowed; i > most; most = allowed) allowed.wait(most);
    }
  });
  for (int round = 0; round < testing::deep_or(100, 30); ++round) {
    const auto session = open_session({});
    ASSERT_TRUE(session->begin_window(0));
    const std::int64_t first = counted.load(std::memory_order_acquire);
    allowed = first + 10'000;
    allowed.notify_one();
    while (counted.load(std::memory_order_acquire) < first + 3'000) std::this_thread::yield();
    const std::int64_t last = counted.load(std::memory_order_acquire);
    session->end_window();
    const auto trace = session->read_window(0);
    ASSERT_TRUE(trace) << trace.error().message;
    ASSERT_EQ(ledger_sum(*trace, LedgerKind::DroppedByBudget), 0u);
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < trace->counters().size(); ++i) {
      const auto value = static_cast<std::int64_t>(trace->counters().value[i]);
      if (expected != 0) {
        ASSERT_EQ(value, expected) << "round " << round;
      }
      expected = value + 1;
    }
    ASSERT_GT(expected, last) << "round " << round;
  }
  stop = true;
  allowed = std::numeric_limits<std::int64_t>::max();
  allowed.notify_one();
  worker.join();
}

TEST(Session, SurvivesManyThreadsWhileOthersStartAndStop) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> recorded{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < 64; ++t) {
    workers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        SONDE_SCOPE("work");
        SONDE_SCOPE("inner");
        recorded.fetch_add(1, std::memory_order_relaxed);
        std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 10; ++round) {
    SessionOptions options;
    options.policy = static_cast<BufferPolicy>(round % 3);
    options.budget_bytes = 4u << 20;
    const auto session = open_session(options);
    const Trace trace = record_window(*session, [&] {
      const std::uint64_t before = recorded.load();
      while (recorded.load() < before + 500) std::this_thread::yield();
    });
    EXPECT_GE(trace.spans().size(), 100u);
    for (const SpanId span : trace.all_spans()) {
      const std::string_view name = trace.name(span);
      ASSERT_TRUE(name == "work" || name == "inner") << name;
      const SpanId parent = trace.spans().parent[span];
      if (parent.valid()) {
        ASSERT_EQ(trace.name(parent), "work");
      }
    }
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace sonde
