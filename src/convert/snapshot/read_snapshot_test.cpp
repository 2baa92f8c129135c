// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/snapshot/read_snapshot.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sonde/open.h"

namespace sonde {
namespace {

// Written by torch 2.11 after three training steps, together with the allocator's statistics.
Trace real_snapshot() {
  Result<Trace> trace = open_trace(SONDE_TEST_DATA "/memory/cnn-sgd.snapshot.pickle.gz");
  if (!trace) std::abort();
  return *std::move(trace);
}

TEST(Snapshot, HasTheHistoryOfItsAllocator) {
  const Trace trace = real_snapshot();
  const AllocationTable& rows = trace.allocations();
  std::size_t births = 0;
  std::size_t deaths = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows.device_type[i], DeviceType::Cuda);
    (rows.bytes[i] > 0 ? births : deaths) += 1;
  }
  EXPECT_EQ(deaths, 104U);
  EXPECT_GE(births, 127U);
}

TEST(Snapshot, TotalsEndWithWhatTheSegmentsHold) {
  const Trace trace = real_snapshot();
  const AllocationTable& rows = trace.allocations();
  std::map<std::string_view, std::int64_t> said;
  for (std::size_t i = 0; i < trace.metadata().size(); ++i) {
    said[trace.string(trace.metadata().key[i])] =
        std::stoll(std::string(trace.string(trace.metadata().value[i])));
  }
  const AllocationId last(rows.size() - 1);
  EXPECT_EQ(rows.total_reserved_bytes[last], said["cuda:0 reserved_bytes"]);
  EXPECT_EQ(rows.total_allocated_bytes[last],
            said["cuda:0 reserved_bytes"] - said["cuda:0 unused_bytes"]);
  // The history has the requested sizes, the segments the rounded ones.
  std::int64_t live = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) live += rows.bytes[i];
  EXPECT_LE(live, rows.total_allocated_bytes[last]);
  EXPECT_GT(live, rows.total_allocated_bytes[last] - 512 * static_cast<std::int64_t>(rows.size()));
}

TEST(Snapshot, KeepsStacksAndAnnotations) {
  const Trace trace = real_snapshot();
  EXPECT_TRUE(trace.allocations().stack[AllocationId(trace.allocations().size() - 1)].valid());
  ASSERT_EQ(trace.spans().size(), 6U);
  EXPECT_EQ(trace.name(SpanId(0)), "Optimizer.zero_grad#SGD.zero_grad");
}

TEST(Snapshot, IsNotEveryPickle) {
  const std::string list = "\x80\x04}\x94.";
  const Result<Trace> trace =
      read_snapshot({reinterpret_cast<const std::uint8_t*>(list.data()), list.size()}, "x.pickle",
                    TraceBuilder());
  ASSERT_FALSE(trace.has_value());
  EXPECT_EQ(trace.error().message,
            "x.pickle: is a pickle, but not a memory snapshot: it has no segments");
}

}  // namespace
}  // namespace sonde
