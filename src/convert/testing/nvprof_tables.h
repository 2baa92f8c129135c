// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// nvprof's tables, empty.

namespace sonde::testing {

constexpr const char* kNvprofTables = R"(
  CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE);
  CREATE TABLE Version (version INTEGER);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, objectKind INT NOT NULL,
    objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, processId INT NOT NULL,
    threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    registersPerThread INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
    contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL,
    gridZ INT NOT NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL,
    staticSharedMemory INT NOT NULL, dynamicSharedMemory INT NOT NULL,
    localMemoryPerThread INT NOT NULL, correlationId INT NOT NULL, gridId INT NOT NULL,
    name INT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    copyKind INT NOT NULL, srcKind INT NOT NULL, dstKind INT NOT NULL, flags INT NOT NULL,
    bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
    contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL,
    runtimeCorrelationId INT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    value INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL,
    deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL,
    correlationId INT NOT NULL, flags INT NOT NULL, memoryKind INT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    type INT NOT NULL, start INT NOT NULL, end INT NOT NULL, correlationId INT NOT NULL,
    contextId INT NOT NULL, streamId INT NOT NULL, cudaEventId INT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_CONTEXT (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    contextId INT NOT NULL, deviceId INT NOT NULL, computeApiKind INT NOT NULL,
    nullStreamId INT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE (_id_ INTEGER PRIMARY KEY AUTOINCREMENT,
    globalMemorySize INT NOT NULL, numThreadsPerWarp INT NOT NULL, coreClockRate INT NOT NULL,
    numMultiprocessors INT NOT NULL, computeCapabilityMajor INT NOT NULL,
    computeCapabilityMinor INT NOT NULL, id INT NOT NULL, uuid BLOB NOT NULL, name INT NOT NULL);
)";

// Two nested ranges, a call in each, and their kernels. The thread is 12 of process 11.
constexpr const char* kNvprofRanges = R"(
  INSERT INTO StringTable VALUES (1, 'forward'), (2, 'aten::mm, seq = 3'), (3, '_Z3addPfi'),
    (4, 'Tesla V100');
  INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (flags, timestamp, id, objectKind, objectId, name, domain)
    VALUES (2, 1000, 1, 2, x'0b0000000c000000', 1, 0), (2, 2000, 2, 2, x'0b0000000c000000', 2, 0),
           (4, 3000, 2, 2, x'0b0000000c000000', 0, 0), (4, 9000, 1, 2, x'0b0000000c000000', 0, 0);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
    (cbid, start, end, processId, threadId, correlationId, returnValue)
    VALUES (211, 2100, 2200, 11, 12, 71, 0), (211, 4000, 4100, 11, 12, 72, 0);
  INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (registersPerThread, start, end, deviceId,
    contextId, streamId, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory,
    dynamicSharedMemory, localMemoryPerThread, correlationId, gridId, name)
    VALUES (32, 2500, 2800, 0, 1, 7, 10, 1, 1, 256, 1, 1, 1024, 512, 0, 71, 1, 3),
           (16, 4500, 4900, 0, 1, 7, 20, 2, 1, 128, 1, 1, 0, 0, 0, 72, 2, 3);
)";

}  // namespace sonde::testing
