// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal handlers that record, called at any instruction of a thread that also records.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <thread>

#include "collect/testing/recorded.h"
#include "sonde/record.h"
#include "trace/testing/deep.h"

namespace sonde::testing {
namespace {

std::atomic<std::uint64_t> handled{0};

void on_signal(int) {
  SONDE_SCOPE("handler");
  SONDE_INSTANT("in the handler");
  handled.fetch_add(1, std::memory_order_relaxed);
}

TEST(Signals, NeverDisturbWhatTheyInterrupt) {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGALRM, &action, nullptr), 0);
  const auto session = open_session({});
  std::uint64_t worked = 0;
  const Trace trace = record_window(*session, [&] {
    const itimerval often = {{0, 100}, {0, 100}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    while (handled.load() < deep_or(2'000U, 500U)) {
      SONDE_SCOPE("work");
      SONDE_COUNTER("count", worked);
      ++worked;
    }
    const itimerval never = {};
    ::setitimer(ITIMER_REAL, &never, nullptr);
  });
  EXPECT_EQ(
      2 * count_spans(trace, "work") + ledger_sum(trace, LedgerKind::DroppedByBudget, "spans"),
      2 * worked);
  // A handler that interrupted the recorder loses both its scope and its instant, or neither.
  const std::uint64_t lost = ledger_sum(trace, LedgerKind::DroppedInSignal);
  EXPECT_EQ(2 * count_spans(trace, "handler") + lost, 2 * handled.load());
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unmatched), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Undecodable), 0u);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::Unfinished), 0u);
  for (const SpanId span : trace.all_spans()) {
    if (trace.name(span) != "handler") continue;
    const SpanId parent = trace.spans().parent[span];
    if (parent.valid()) {
      ASSERT_EQ(trace.name(parent), "work");
    }
  }
}

}  // namespace
}  // namespace sonde::testing
