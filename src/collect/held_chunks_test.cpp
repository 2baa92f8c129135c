// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads keep their chunk from one session to the next. The next session prepares its memory
// around it.

#include <gtest/gtest.h>

#include <thread>

#include "collect/testing/recorded.h"
#include "sonde/record.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::count_spans;
using testing::ledger_sum;
using testing::open_session;
using testing::record_window;

void record_scopes(int count) {
  for (int i = 0; i < count; ++i) {
    SONDE_SCOPE("filler");
  }
}

TEST(HeldChunks, KeepWhatIsRecordedWhileMemoryIsMadeReady) {
  // A ring is not drained, so this thread ends far up in the buffers.
  const testing::TempDir dir;
  SessionOptions options;
  options.output = dir.file("run.sonde");
  options.policy = BufferPolicy::Ring;
  options.budget_bytes = std::uint64_t{128} << 20;
  constexpr int kScopesIn1MiB = 65'000;
  {
    const auto first = open_session(options);
    ASSERT_TRUE(first->begin_window(0));
    record_scopes(40 * kScopesIn1MiB);
    first->end_window();
    ASSERT_TRUE(first->close());
  }
  const auto second = open_session(options);
  const Trace trace = record_window(*second, [] {
    {
      SONDE_SCOPE("mine");
    }
    std::thread([] { record_scopes(20 * kScopesIn1MiB); }).join();
  });
  EXPECT_EQ(count_spans(trace, "mine"), 1u);
  EXPECT_EQ(trace.spans().size(), 1u + 20 * kScopesIn1MiB);
  EXPECT_EQ(ledger_sum(trace, LedgerKind::DroppedByBudget), 0u);
}

}  // namespace
}  // namespace sonde
