// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/read_nvprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "convert/testing/made_database.h"
#include "convert/testing/nvprof_tables.h"
#include "convert/testing/read_text.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::ledger_count;
using testing::ledger_detail;

class NvprofRead : public ::testing::Test {
 protected:
  NvprofRead() {
    made_.run(testing::kNvprofTables);
    made_.run(testing::kNvprofRanges);
  }
  // The n-th span of that name.
  static SpanId find(const Trace& trace, std::string_view name, int n = 0) {
    for (const SpanId span : trace.all_spans()) {
      if (trace.name(span) == name && n-- == 0) return span;
    }
    ADD_FAILURE() << "no span " << name;
    return SpanId(0);
  }
  testing::MadeDatabase made_;
};

TEST_F(NvprofRead, PutsRangesAndCallsOnTheirThreads) {
  const Trace trace = made_.read();
  const SpanTable& spans = trace.spans();
  EXPECT_EQ(spans.size(), 6U);
  const SpanId mm = find(trace, "aten::mm, seq = 3");
  EXPECT_EQ(spans.start_ns[mm], 2000);
  EXPECT_EQ(spans.duration_ns[mm], 1000);
  EXPECT_EQ(spans.kind[mm], SpanKind::UserAnnotation);
  EXPECT_EQ(spans.parent[mm], find(trace, "forward"));
  const SpanId call = find(trace, "cudaLaunchKernel");
  EXPECT_EQ(spans.parent[call], mm);
  EXPECT_EQ(trace.tracks().id[spans.track[call]], 12);
  EXPECT_EQ(trace.processes().pid[0], 11);
  EXPECT_TRUE(trace.ledger().empty()) << testing::dumped(trace);
}

TEST_F(NvprofRead, GivesKernelsTheInnermostRangeOfTheirCall) {
  const Trace trace = made_.read();
  const SpanId first = find(trace, "add(float*, int)", 0);
  const SpanId second = find(trace, "add(float*, int)", 1);
  EXPECT_EQ(trace.spans().external_id[first], 2);
  EXPECT_EQ(trace.spans().external_id[second], 1);
  EXPECT_EQ(trace.spans().correlation[first], 71);
  const TrackId track = trace.spans().track[first];
  EXPECT_EQ(trace.tracks().kind[track], TrackKind::Stream);
  EXPECT_EQ(trace.tracks().id[track], 7);
  EXPECT_EQ(trace.tracks().device_index[track], 0);
}

TEST_F(NvprofRead, KeepsHowKernelsWereLaunched) {
  const Trace trace = made_.read();
  const KernelTable& kernels = trace.kernels();
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels.grid_x[0], 10);
  EXPECT_EQ(kernels.block_x[0], 256);
  EXPECT_EQ(kernels.registers_per_thread[0], 32);
  EXPECT_EQ(kernels.shared_bytes[0], 1536);
  EXPECT_EQ(kernels.context[0], 1);
}

TEST_F(NvprofRead, ReadsCopiesFillsSyncsAndDevices) {
  made_.run(R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
      (cbid, start, end, processId, threadId, correlationId, returnValue)
      VALUES (41, 5000, 5100, 11, 12, 73, 0), (51, 5200, 5300, 11, 12, 74, 0),
             (131, 5400, 5900, 11, 12, 75, 0), (99999, 6000, 6100, 11, 12, 76, 2);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (copyKind, srcKind, dstKind, flags, bytes, start, end,
      deviceId, contextId, streamId, correlationId, runtimeCorrelationId)
      VALUES (1, 1, 3, 0, 4096, 5050, 5150, 0, 1, 7, 73, 0);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (value, bytes, start, end, deviceId, contextId, streamId,
      correlationId, flags, memoryKind) VALUES (255, 64, 5250, 5260, 0, 1, 7, 74, 0, 3);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (type, start, end, correlationId, contextId,
      streamId, cudaEventId) VALUES (3, 5410, 5890, 75, 1, 7, 4294967295);
    INSERT INTO CUPTI_ACTIVITY_KIND_CONTEXT (contextId, deviceId, computeApiKind, nullStreamId)
      VALUES (1, 0, 1, 7);
    INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE (globalMemorySize, numThreadsPerWarp, coreClockRate,
      numMultiprocessors, computeCapabilityMajor, computeCapabilityMinor, id, uuid, name)
      VALUES (17179869184, 32, 1380000, 80, 7, 0, 0, x'000102030405060708090a0b0c0d0e0f', 4))");
  const Trace trace = made_.read();
  const SpanId copy = find(trace, "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(trace.spans().kind[copy], SpanKind::GpuMemcpy);
  EXPECT_EQ(trace.spans().external_id[copy], 1);
  EXPECT_EQ(trace.copies().bytes[0], 4096);
  EXPECT_EQ(trace.copies().kind[0], CopyKind::HtoD);
  EXPECT_EQ(trace.copies().value[1], 255);
  EXPECT_EQ(trace.spans().kind[find(trace, "Memset (Device)")], SpanKind::GpuMemset);
  const SpanId sync = find(trace, "Stream Sync");
  EXPECT_EQ(trace.spans().track[sync], trace.spans().track[copy]);
  EXPECT_EQ(trace.syncs().event_id[0], -1);
  EXPECT_EQ(trace.api_calls().return_value[5], 2);
  find(trace, "runtime call 99999");
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.string(trace.devices().name[0]), "Tesla V100");
  EXPECT_EQ(trace.string(trace.devices().uuid[0]), "000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(trace.devices().multiprocessors[0], 80);
}

TEST_F(NvprofRead, LooksAtOtherThreadsForCallsInNoRangeOfTheirOwn) {
  made_.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME"
      " (cbid, start, end, processId, threadId, correlationId, returnValue)"
      " VALUES (211, 2300, 2400, 11, 99, 80, 0), (211, 9500, 9600, 11, 99, 81, 0)");
  const Trace trace = made_.read();
  const auto of_call = [&](std::int64_t correlation) {
    for (const SpanId span : trace.all_spans()) {
      if (trace.spans().correlation[span] == correlation) return trace.spans().external_id[span];
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(of_call(80), 2);
  EXPECT_EQ(of_call(81), 0);
}

TEST_F(NvprofRead, ReadsMarkersOfOneMoment) {
  made_.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER"
      " (flags, timestamp, id, objectKind, objectId, name, domain)"
      " VALUES (1, 2345, 7, 2, x'0b0000000c000000', 1, 0)");
  const Trace trace = made_.read();
  ASSERT_EQ(trace.instants().size(), 1U);
  EXPECT_EQ(trace.instants().time_ns[0], 2345);
  EXPECT_EQ(trace.string(trace.instants().name[0]), "forward");
}

TEST_F(NvprofRead, CountsWhatMakesNoSense) {
  made_.run(R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_MARKER
      (flags, timestamp, id, objectKind, objectId, name, domain)
      VALUES (2, 1, 20, 2, x'', 1, 0), (4, 2, 21, 2, x'', 0, 0), (2, 3, 1, 2, x'', 1, 0),
             (2, 'noon', 22, 2, x'', 1, 0);
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
      SELECT 100, 0, 9223372036854775807, -9223372036854775807, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
             0, 0, 3;
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
      SELECT 101, 0, 5000, 6000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4242, 0, 77)");
  const Trace trace = made_.read();
  EXPECT_EQ(ledger_count(trace, LedgerKind::Unfinished), 1U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Unmatched), 1U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 3U);  // repeated, noon, endless
  EXPECT_EQ(ledger_count(trace, LedgerKind::Uncorrelated), 1U);
  find(trace, "(string 77)");
}

TEST_F(NvprofRead, NamesTablesThatItDoesNotRead) {
  made_.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (overheadKind INT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_PC_SAMPLING (samples INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING VALUES (3)");
  const Trace trace = made_.read();
  EXPECT_EQ(ledger_count(trace, LedgerKind::Note), 1U);
  EXPECT_THAT(ledger_detail(trace, LedgerKind::Note), HasSubstr("PC_SAMPLING is not read"));
}

TEST_F(NvprofRead, NamesTheTableThatIsMissing) {
  made_.run("DROP TABLE StringTable");
  EXPECT_THAT(made_.error(), HasSubstr("made.sqlite: has no table StringTable"));
  made_.run("CREATE VIEW StringTable AS SELECT 1 AS _id_, 'x' AS value");
  EXPECT_THAT(made_.error(), HasSubstr("StringTable is a view, not a table"));
}

TEST(NvprofReadAlone, NamesTheTablesThatAllAreMissing) {
  testing::MadeDatabase made;
  made.run("CREATE TABLE StringTable (_id_ INTEGER, value TEXT)");
  EXPECT_THAT(made.error(), HasSubstr("none of its tables such as CUPTI_ACTIVITY_KIND_RUNTIME"));
  made.run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER)");
  EXPECT_THAT(made.error(), HasSubstr("CUPTI_ACTIVITY_KIND_RUNTIME has no column end"));
}

}  // namespace
}  // namespace sonde
