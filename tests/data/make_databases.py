#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes small databases as nvprof and Nsight Systems write them, of one known training step.

    tests/data/make_databases.py FOLDER            nvprof.sqlite and nsys.sqlite
    tests/data/make_databases.py --corpus FOLDER   those, and damaged ones, for fuzz/corpus/database

The tables are those of nvprof's version 9 and of Nsight Systems' export schema 3, with the columns that are read and a
few that are not. The step: a range "step" with "forward" and "backward" in it, two kernels, a copy and a fill in the
first, one kernel in the second, a wait at the end. Times are in nanoseconds.
"""

import argparse
import sqlite3
import struct
from pathlib import Path

PID, TID = 4242, 4243
STRINGS = ["step", "forward", "backward", "_Z9add_floatPfS_i", "ampere_sgemm_128x64_tn", "NVIDIA H200"]
RANGES = [("step", 1_000, 90_000), ("forward", 2_000, 40_000), ("backward", 41_000, 80_000)]
# name, callback id, start, end, correlation
CALLS = [("cudaMemcpyAsync_v3020", 41, 3_000, 5_000, 1), ("cudaMemsetAsync_v3020", 51, 6_000, 7_000, 2),
         ("cudaLaunchKernel_v7000", 211, 8_000, 10_000, 3), ("cudaLaunchKernel_v7000", 211, 11_000, 12_500, 4),
         ("cudaLaunchKernel_v7000", 211, 42_000, 44_000, 5), ("cudaDeviceSynchronize_v3020", 165, 81_000, 89_000, 6)]
# name, start, end, correlation
KERNELS = [("_Z9add_floatPfS_i", 20_000, 21_500, 3), ("ampere_sgemm_128x64_tn", 21_600, 31_600, 4),
           ("ampere_sgemm_128x64_tn", 50_000, 70_000, 5)]
COPY, FILL, WAIT = (5_500, 9_500, 1), (9_600, 9_900, 2), (81_500, 88_500, 6)


def table(db: sqlite3.Connection, name: str, columns: str, rows: list[tuple]):
    db.execute(f"CREATE TABLE {name} ({columns})")
    for row in rows:
        db.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)


def number(text: str) -> int:
    return STRINGS.index(text) + 1


def make_nvprof(path: Path):
    thread = struct.pack("<III", PID, TID, 0)
    markers, marker_rows = 0, []
    for name, start, end in RANGES:
        markers += 1
        marker_rows += [(start, 2, markers, number(name)), (end, 4, markers, 0)]
    marker_rows.sort()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA page_size=512")
        table(db, "StringTable", "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE",
              list(enumerate(STRINGS, start=1)))
        table(db, "Version", "version INTEGER", [(9,)])
        table(db, "CUPTI_ACTIVITY_KIND_MARKER",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT NOT NULL, timestamp INT NOT NULL, id INT NOT NULL, "
              "objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT NULL",
              [(i, flags, time, marker, 2, thread, name, 0)
               for i, (time, flags, marker, name) in enumerate(marker_rows, start=1)])
        table(db, "CUPTI_ACTIVITY_KIND_RUNTIME",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, "
              "processId INT NOT NULL, threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL",
              [(i, cbid, start, end, PID, TID, correlation, 0)
               for i, (_, cbid, start, end, correlation) in enumerate(CALLS, start=1)])
        table(db, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, registersPerThread INT NOT NULL, start INT NOT NULL, "
              "end INT NOT NULL, completed INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, "
              "streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, gridZ INT NOT NULL, blockX INT NOT NULL, "
              "blockY INT NOT NULL, blockZ INT NOT NULL, staticSharedMemory INT NOT NULL, "
              "dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL, localMemoryTotal INT NOT NULL, "
              "correlationId INT NOT NULL, gridId INT NOT NULL, name INT NOT NULL",
              [(i, 32, start, end, end, 0, 1, 7, 64, 1, 1, 256, 1, 1, 0, 1024, 0, 0, correlation, i, number(name))
               for i, (name, start, end, correlation) in enumerate(KERNELS, start=1)])
        table(db, "CUPTI_ACTIVITY_KIND_MEMCPY",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT NOT NULL, srcKind INT NOT NULL, "
              "dstKind INT NOT NULL, flags INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT NULL, "
              "deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, "
              "runtimeCorrelationId INT NOT NULL", [(1, 1, 2, 3, 0, 1 << 20, *COPY[:2], 0, 1, 7, COPY[2], 0)])
        table(db, "CUPTI_ACTIVITY_KIND_MEMSET",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, "
              "end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, "
              "correlationId INT NOT NULL, flags INT NOT NULL, memoryKind INT NOT NULL",
              [(1, 0, 4096, *FILL[:2], 0, 1, 7, FILL[2], 0, 3)])
        table(db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, type INT NOT NULL, start INT NOT NULL, end INT NOT NULL, "
              "correlationId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, cudaEventId INT NOT NULL",
              [(1, 4, *WAIT, 1, 0xffffffff, 0xffffffff)])
        table(db, "CUPTI_ACTIVITY_KIND_CONTEXT",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, contextId INT NOT NULL, deviceId INT NOT NULL, "
              "computeApiKind INT NOT NULL, nullStreamId INT NOT NULL", [(1, 1, 0, 1, 7)])
        table(db, "CUPTI_ACTIVITY_KIND_DEVICE",
              "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, globalMemorySize INT NOT NULL, numThreadsPerWarp INT NOT NULL, "
              "numMultiprocessors INT NOT NULL, computeCapabilityMajor INT NOT NULL, computeCapabilityMinor INT NOT NULL, "
              "id INT NOT NULL, uuid BLOB NOT NULL, name INT NOT NULL",
              [(1, 150 << 30, 32, 132, 9, 0, 0, bytes(range(16)), number("NVIDIA H200"))])
    db.close()


def make_nsys(path: Path):
    process, thread = PID << 24, PID << 24 | TID
    names = STRINGS + [call[0] for call in CALLS] + ["main thread", "add_float(float*, float*, int)"]
    names = list(dict.fromkeys(names))
    ids = {name: i for i, name in enumerate(names, start=1)}
    ids["_Z9add_floatPfS_i"] = ids["add_float(float*, float*, int)"]
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA page_size=512")
        table(db, "StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
              list(enumerate(names, start=1)))
        table(db, "META_DATA_EXPORT", "name TEXT NOT NULL, value TEXT", [("EXPORT_SCHEMA_VERSION", "3.11.0")])
        table(db, "PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT", [(process, PID, "python3")])
        table(db, "ThreadNames", "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
              [(ids["main thread"], 0, thread)])
        table(db, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
              [(1_700_000_000_000_000_000, "", "")])
        table(db, "ANALYSIS_DETAILS",
              "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, "
              "stopTime INTEGER NOT NULL", [(0, 100_000, 0, 100_000)])
        table(db, "TARGET_INFO_GPU",
              "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, clockRate INTEGER, "
              "smCount INTEGER, uuid TEXT, threadsPerWarp INTEGER, computeMajor INTEGER, computeMinor INTEGER",
              [(0, 0, "NVIDIA H200", 150 << 30, 1_980_000_000, 132, "0b6d", 32, 9, 0)])
        table(db, "NVTX_EVENTS",
              "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, "
              "color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER",
              [(start, end, 59, None, None, None, name, thread, None, None, 0) for name, start, end in RANGES] +
              [(95_000, None, 34, None, None, None, "the end", thread, None, None, 0)])
        table(db, "CUPTI_ACTIVITY_KIND_RUNTIME",
              "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
              "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
              [(start, end, 0, thread, correlation, ids[name], 0, None)
               for name, _, start, end, correlation in CALLS])
        table(db, "CUPTI_ACTIVITY_KIND_KERNEL",
              "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
              "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
              "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
              "registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
              "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
              "staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, "
              "localMemoryPerThread INTEGER NOT NULL, graphNodeId INTEGER",
              [(start, end, 0, 1, None, 7, correlation, process, ids[name], ids[name], None, 32, 64, 1, 1, 256, 1, 1, 0,
                1024, 0, None) for name, start, end, correlation in KERNELS])
        table(db, "CUPTI_ACTIVITY_KIND_MEMCPY",
              "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
              "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, "
              "copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER",
              [(*COPY[:2], 0, 1, 7, COPY[2], process, 1 << 20, 1, 1, 2)])
        table(db, "CUPTI_ACTIVITY_KIND_MEMSET",
              "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
              "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, "
              "bytes INTEGER NOT NULL, memKind INTEGER", [(*FILL[:2], 0, 1, 7, FILL[2], process, 0, 4096, 2)])
        table(db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
              "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
              "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, "
              "eventId INTEGER NOT NULL", [(*WAIT[:2], 0, 1, 0xffffffff, WAIT[2], process, 4, 0)])
        table(db, "OSRT_API", "start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER NOT NULL", [(1, 2, 1)])
    db.close()


def make_hostile(path: Path, view: str):
    """A view in place of a table, a trigger, computed and wrongly typed columns."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA page_size=512")
        db.executescript("""
            CREATE TABLE StringIds (id, value);
            INSERT INTO StringIds VALUES ('1', 2), (NULL, NULL), (9223372036854775807, x'00ff');
            CREATE VIEW """ + view + """ AS SELECT randomblob(1000000) AS start, 1 AS end;
            CREATE TABLE NVTX_EVENTS (start, end AS (start * start), eventType, text);
            INSERT INTO NVTX_EVENTS VALUES (1, 59, 'a'), (1e300, 59, x'00'), (-9223372036854775808, 60, NULL);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, streamId, demangledName, gridX);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 4, 1, 1, 1), ('a', 'b', 'c', 'd', 'e'),
              (-9223372036854775808, 9223372036854775807, 1, 1, 1), (1, 2, -1, -1, 99999999999);
            CREATE TRIGGER t AFTER INSERT ON NVTX_EVENTS BEGIN SELECT 1; END;
            CREATE INDEX i ON CUPTI_ACTIVITY_KIND_KERNEL (start + end);
            """)
    db.close()


def make_corpus(folder: Path):
    make_hostile(folder / "hostile.sqlite", "CUPTI_ACTIVITY_KIND_MEMCPY")
    make_hostile(folder / "wrong_types.sqlite", "OTHER")
    for name in ("nvprof", "nsys"):
        whole = (folder / f"{name}.sqlite").read_bytes()
        (folder / f"{name}_cut.sqlite").write_bytes(whole[: len(whole) * 2 // 3])
    logged = bytearray((folder / "nsys.sqlite").read_bytes())
    logged[18:20] = b"\2\2"
    (folder / "logged.sqlite").write_bytes(logged)
    (folder / "header.sqlite").write_bytes(logged[:100])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", action="store_true", help="make damaged ones too")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    for old in arguments.folder.glob("*.sqlite"):
        old.unlink()
    make_nvprof(arguments.folder / "nvprof.sqlite")
    make_nsys(arguments.folder / "nsys.sqlite")
    if arguments.corpus:
        make_corpus(arguments.folder)


if __name__ == "__main__":
    main()
