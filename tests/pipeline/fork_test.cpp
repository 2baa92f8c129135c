// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fork() while recording: the child starts clean and leaves the parent's recording alone.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "collect/testing/recorded.h"
#include "sonde/profiler.h"
#include "sonde/record.h"
#include "trace/testing/temp_dir.h"

namespace sonde::testing {
namespace {

template <typename Body>
void expect_child_succeeds(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Fork, LeavesTheParentsRecordingAlone) {
  const TempDir dir;
  const auto session = open_session({.output = dir.file("parent.sonde")});
  const Trace trace = record_window(*session, [&] {
    SONDE_SCOPE("around");
    {
      SONDE_SCOPE("parent before");
    }
    expect_child_succeeds([&] {
      for (int i = 0; i < 10'000; ++i) {
        SONDE_SCOPE("child");
      }
      EXPECT_FALSE(sonde::is_recording());
      EXPECT_FALSE(session->recording());
      session->end_window();
      EXPECT_TRUE(session->close());
      EXPECT_FALSE(session->read_all());
    });
    {
      SONDE_SCOPE("parent after");
    }
  });
  EXPECT_EQ(count_spans(trace, "parent before"), 1u);
  EXPECT_EQ(count_spans(trace, "parent after"), 1u);
  EXPECT_EQ(count_spans(trace, "child"), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  ASSERT_TRUE(session->close());
}

TEST(Fork, LetsTheChildRecordOnItsOwn) {
  const TempDir dir;
  const auto session = open_session({.output = dir.file("parent.sonde")});
  // Works while a child is forked, but does not fill the disk while one is examined.
  constexpr int kChildren = 5;
  constexpr int kScopesMeanwhile = 50'000;
  std::atomic<int> forked{0};
  std::thread worker([&] {
    for (int i = 0; i < kChildren * kScopesMeanwhile; ++i) {
      if (i % kScopesMeanwhile == 0) forked.wait(i / kScopesMeanwhile);
      SONDE_SCOPE("parent's worker");
    }
  });
  const Trace trace = record_window(*session, [&] {
    for (int i = 0; i < kChildren; ++i) {
      forked = i + 1;
      forked.notify_one();
      const std::string path = dir.file("child" + std::to_string(i) + ".sonde");
      expect_child_succeeds([&] {
        const auto own = open_session({.output = path});
        record_window(*own, [] {
          SONDE_SCOPE("child");
          std::thread([] { SONDE_SCOPE("child's thread"); }).join();
        });
        EXPECT_TRUE(own->close());
      });
      const auto child = open_sonde(path);
      ASSERT_TRUE(child) << child.error().message;
      EXPECT_EQ(count_spans(*child, "child"), 1u);
      EXPECT_EQ(count_spans(*child, "child's thread"), 1u);
      EXPECT_EQ(count_spans(*child, "parent's worker"), 0u);
      EXPECT_EQ(ledger_sum(*child, LedgerKind::Forked), 1u);
    }
  });
  forked = kChildren + 1;
  forked.notify_one();
  worker.join();
  EXPECT_EQ(count_spans(trace, "child"), 0u);
  EXPECT_GT(count_spans(trace, "parent's worker"), 0u);
}

std::atomic<bool> raises{false};

// Registered before Sonde's, so it runs after Sonde's, while the recorder's locks are held.
const int registered = ::pthread_atfork(
    [] {
      if (raises) ::raise(SIGUSR1);
    },
    nullptr, nullptr);

TEST(Fork, MayBeInterruptedByAHandlerThatRecords) {
  ASSERT_EQ(registered, 0);
  const TempDir dir;
  const auto session = open_session({.output = dir.file("parent.sonde")});
  const auto old = ::signal(SIGUSR1, [](int) { SONDE_SCOPE("seen for the first time"); });
  const Trace trace = record_window(*session, [] {
    SONDE_SCOPE("around");
    raises = true;
    expect_child_succeeds([] {});
    raises = false;
    SONDE_SCOPE("after");
  });
  ::signal(SIGUSR1, old);
  EXPECT_EQ(count_spans(trace, "after"), 1u);
  EXPECT_GT(ledger_sum(trace, LedgerKind::DroppedInSignal), 0u);
  ASSERT_TRUE(session->close());
}

TEST(Fork, MakesAProfilerOfTheParentDoNothingInTheChild) {
  const TempDir dir;
  ProfilerOptions options;
  options.output = dir.file("profiler.sonde");
  options.schedule = schedule({.wait = 0, .warmup = 1, .active = 2});
  Profiler profiler(options);
  profiler.start();
  profiler.step();
  {
    SONDE_SCOPE("parent");
  }
  expect_child_succeeds([&] {
    {
      SONDE_SCOPE("child");
    }
    profiler.step();
    profiler.step();
    profiler.stop();
  });
  profiler.step();
  profiler.stop();
  ASSERT_TRUE(profiler.close());
  const auto trace = open_sonde(dir.file("profiler.sonde"));
  ASSERT_TRUE(trace);
  EXPECT_EQ(count_spans(*trace, "parent"), 1u);
  EXPECT_EQ(count_spans(*trace, "child"), 0u);
}

}  // namespace
}  // namespace sonde::testing
