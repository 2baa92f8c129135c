// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/read_nsys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "convert/testing/exported.h"
#include "convert/testing/made_database.h"
#include "convert/testing/read_text.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::ledger_count;
using testing::ledger_detail;

// A subset of the columns, as several versions of Nsight Systems have them. Thread 12 of process 11
// is 0xb00000c in one number.
constexpr const char* kTables = R"(
  CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
  CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
  CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER,
    stopTime INTEGER);
  CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
  CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
    endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
    eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    shortName INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
    blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
  INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'gemm'), (3, 'main'),
    (4, 'cudaLaunchKernel_v7000'), (5, 'cudaMemcpyAsync_v3020'), (6, 'cuMemcpyHtoD_v2'),
    (7, 'registered');
  INSERT INTO ThreadNames VALUES (3, 0, 0xb00000c), (3, 0, 0xb0000ff);
  INSERT INTO PROCESSES VALUES (0xb000000, 11, '/usr/bin/python3'), (0xc000000, 12, 'bash');
  INSERT INTO ANALYSIS_DETAILS VALUES (0, 9000, 0, 9000);
  INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '');
  INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)
    VALUES (1000, 8000, 59, 'forward', 0xb00000c, 0);
  INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid, domainId)
    VALUES (2000, 3000, 59, 7, 0xb00000c, 0);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
    VALUES (2100, 2200, 0, 0xb00000c, 71, 4, 0, NULL), (4000, 4100, 0, 0xb00000c, 72, 5, 0, NULL);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
    VALUES (2500, 2800, 0, 1, 7, 71, 0xb000000, 1, 2, 10, 1, 1, 256, 1, 1, NULL);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY
    VALUES (4050, 4150, 0, 1, 13, 72, 0xb000000, 4096, 1, 1, 2);
)";
constexpr Nanos kBase = 1'700'000'000'000'000'000;

class NsysRead : public ::testing::Test {
 protected:
  NsysRead() { made_.run(kTables); }
  static SpanId find(const Trace& trace, std::string_view name) {
    for (const SpanId span : trace.all_spans()) {
      if (trace.name(span) == name) return span;
    }
    ADD_FAILURE() << "no span " << name;
    return SpanId(0);
  }
  testing::MadeDatabase made_;
};

TEST_F(NsysRead, BringsTimesOntoTheEpoch) {
  const Trace trace = made_.read();
  EXPECT_EQ(trace.spans().start_ns[find(trace, "forward")], kBase + 1000);
  ASSERT_EQ(trace.windows().size(), 1U);
  EXPECT_EQ(trace.windows().end_ns[0], kBase + 9000);
  EXPECT_TRUE(trace.ledger().empty()) << testing::dumped(trace);
}

TEST_F(NsysRead, LinksWorkToTheRangeOfItsCall) {
  const Trace trace = made_.read();
  const SpanTable& spans = trace.spans();
  const SpanId inner = find(trace, "registered");
  EXPECT_EQ(spans.parent[inner], find(trace, "forward"));
  EXPECT_EQ(spans.parent[find(trace, "cudaLaunchKernel")], inner);
  EXPECT_EQ(spans.external_id[find(trace, "void gemm<float>(float*)")], spans.external_id[inner]);
  const SpanId copy = find(trace, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(spans.external_id[copy], spans.external_id[find(trace, "forward")]);
  EXPECT_EQ(trace.copies().bytes[0], 4096);
  EXPECT_EQ(trace.tracks().id[spans.track[copy]], 13);
}

TEST_F(NsysRead, NamesLinesThatAreUsed) {
  const Trace trace = made_.read();
  ASSERT_EQ(trace.processes().size(), 1U);
  EXPECT_EQ(trace.processes().pid[0], 11);
  EXPECT_EQ(trace.string(trace.processes().name[0]), "/usr/bin/python3");
  const TrackId thread = trace.spans().track[find(trace, "forward")];
  EXPECT_EQ(trace.tracks().id[thread], 12);
  EXPECT_EQ(trace.string(trace.tracks().name[thread]), "main");
}

TEST_F(NsysRead, TellsCallsOfTheDriver) {
  made_.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 1, 0xb00000c, 9, 6, 0, NULL)");
  const Trace trace = made_.read();
  EXPECT_EQ(trace.spans().kind[find(trace, "cuMemcpyHtoD_v2")], SpanKind::CudaDriver);
}

TEST_F(NsysRead, ReadsMarksDomainsAndRangesAcrossThreads) {
  made_.run(R"(
    INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)
      VALUES (0, NULL, 75, 'NCCL', 0xb00000c, 3), (500, NULL, 34, 'here', 0xb00000c, 0),
             (600, 700, 59, 'ncclAllReduce', 0xb00000c, 3), (800, NULL, 59, 'open', 0xb00000d, 0);
    INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, endGlobalTid, domainId)
      VALUES (2500, 7000, 60, 'wandering', 0xb00000c, 0xb00000d, 0))");
  const Trace trace = made_.read();
  ASSERT_EQ(trace.instants().size(), 1U);
  EXPECT_EQ(trace.string(trace.instants().name[0]), "here");
  EXPECT_EQ(testing::extra(trace, "domain"), "\"NCCL\"");
  const SpanId wandering = find(trace, "wandering");
  EXPECT_EQ(trace.spans().flags[wandering], SpanFlags::kAsync);
  EXPECT_EQ(trace.tracks().id[trace.spans().end_track[wandering]], 13);
  EXPECT_FALSE(trace.spans().parent[wandering].valid());
  const SpanId open = find(trace, "open");
  EXPECT_EQ(trace.spans().flags[open], SpanFlags::kUnfinished);
  EXPECT_EQ(trace.end_ns(open), kBase + 9000);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Unfinished), 1U);
}

TEST_F(NsysRead, ReadsGraphsSyncsMemoryAndDevices) {
  made_.run(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
      contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
      graphId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5000, 6000, 0, 1, 7, 71, 0xb000000, 42);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
      contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
      syncType INTEGER, eventId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
      VALUES (6100, 6200, 0, 1, 4294967295, 72, 0xb000000, 4, 0);
    CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
      address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER,
      correlationId INTEGER);
    INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS
      VALUES (100, 0xb000000, 0, 4096, 512, 2, 0, 71), (200, 0xb000000, 0, 4096, 512, 2, 1, 71),
             (300, 0xb000000, 0, 8192, 64, 1, 0, 5);
    CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, clockRate INTEGER,
      smCount INTEGER, computeMajor INTEGER, computeMinor INTEGER);
    INSERT INTO TARGET_INFO_GPU VALUES (5, 'NVIDIA H200', 150000000000, 1980000000, 132, 9, 0);
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (5, 0, 11))");
  const Trace trace = made_.read();
  const SpanId graph = find(trace, "CUDA graph 42");
  EXPECT_EQ(trace.spans().kind[graph], SpanKind::Kernel);
  EXPECT_EQ(trace.kernels().graph_id[1], 42);
  const SpanId sync = find(trace, "Context Sync");
  EXPECT_EQ(trace.tracks().kind[trace.spans().track[sync]], TrackKind::Device);
  ASSERT_EQ(trace.allocations().size(), 3U);
  EXPECT_EQ(trace.allocations().bytes[0], 512);
  EXPECT_EQ(trace.allocations().bytes[1], -512);
  EXPECT_EQ(trace.allocations().device_type[1], DeviceType::Cuda);
  EXPECT_EQ(trace.allocations().device_type[2], DeviceType::Cpu);
  EXPECT_EQ(trace.allocations().track[0], trace.spans().track[find(trace, "forward")]);
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.devices().index[0], 0);
  EXPECT_EQ(trace.devices().clock_khz[0], 1'980'000);
}

TEST_F(NsysRead, SaysWhatTheProfilerLostAndWhatIsNotRead) {
  made_.run(R"(
    CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT);
    INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'Process 11 was launched'),
      (2, 2, 'Not all CUDA events might have been collected.');
    CREATE TABLE OSRT_API (start INTEGER, end INTEGER);
    INSERT INTO OSRT_API VALUES (1, 2);
    CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT);
    INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'PAGEABLE'))");
  const Trace trace = made_.read();
  EXPECT_EQ(ledger_count(trace, LedgerKind::Note), 2U);
  const std::string dump = testing::dumped(trace);
  EXPECT_THAT(dump, HasSubstr("Not all CUDA events might have been collected."));
  EXPECT_THAT(dump, HasSubstr("the table OSRT_API is not read"));
}

TEST_F(NsysRead, CountsRowsOfTheWrongTypes) {
  made_.run(R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end) VALUES ('early', 3), (9, 1);
    INSERT INTO NVTX_EVENTS (start, end, eventType) VALUES (1, 'late', 59);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end) VALUES (10, 20))");
  const Trace trace = made_.read();
  EXPECT_EQ(ledger_count(trace, LedgerKind::Undecodable), 3U);
  EXPECT_EQ(ledger_count(trace, LedgerKind::Uncorrelated), 1U);
  EXPECT_EQ(trace.copies().size(), 2U);
}

TEST_F(NsysRead, RefusesAViewInPlaceOfATable) {
  made_.run(
      "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
      "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT 1 AS start, 2 AS end");
  EXPECT_THAT(made_.error(), HasSubstr("CUPTI_ACTIVITY_KIND_MEMCPY is a view, not a table"));
}

TEST_F(NsysRead, NamesTheTableThatIsMissing) {
  made_.run("DROP TABLE StringIds");
  EXPECT_THAT(made_.error(), HasSubstr("made.sqlite: has no table StringIds"));
}

TEST(NsysReadAlone, NamesTheTablesOfWhichOneIsNeeded) {
  testing::MadeDatabase made;
  made.run("CREATE TABLE StringIds (id INTEGER, value TEXT); CREATE TABLE OSRT_API (start)");
  EXPECT_THAT(made.error(), HasSubstr("none of the tables CUPTI_ACTIVITY_KIND_KERNEL"));
}

TEST_F(NsysRead, ExportsArrowsFromCallsToWork) {
  const std::string json = testing::exported_json(made_.read());
  EXPECT_TRUE(validate_json(json));
  EXPECT_THAT(json, HasSubstr("\"ac2g\""));
}

}  // namespace
}  // namespace sonde
