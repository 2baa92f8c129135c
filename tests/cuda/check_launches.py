#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a trace of tests/cuda/launches.cu with what the program says it did.

usage: check_launches.py LEVEL COUNTS.json TRACE.json
"""

import collections
import json
import sys

level = sys.argv[1]
with open(sys.argv[2], encoding="utf-8") as file:
    counts = json.load(file)
with open(sys.argv[3], encoding="utf-8") as file:
    trace = json.load(file)
events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
kernels = [e for e in events if e["cat"] == "kernel"]
in_graphs = [e for e in kernels if "graph node id" in e["args"] and e["args"]["graph node id"]]
by_name = collections.Counter(e["cat"] for e in events)
lost = {row["kind"]: row["count"] for row in trace.get("sonde_ledger", [])}
launch_names = collections.Counter(e["name"] for e in kernels)
print(dict(by_name))
print(dict(launch_names))
print("ledger:", lost)
problems = []


def expect(what, found, wanted):
    print(f"{'ok  ' if found == wanted else 'DIFF'} {what}: {found} of {wanted}")
    if found != wanted:
        problems.append(what)


expect("kernels outside of graphs", len(kernels) - len(in_graphs), counts["kernels"])
expect("kernels of the captured graph", sum(e["name"].startswith("add_one") for e in in_graphs),
       counts["graph_kernels"])
print(f"     kernels of the loop in a graph: {sum(e['name'].startswith('count_down') for e in in_graphs)}")
expect("copies", by_name["gpu_memcpy"], counts["copies"])
expect("fills", by_name["gpu_memset"], counts["fills"])
expect("graph launches", sum(e["name"] == "cudaGraphLaunch" for e in events),
       counts["graph_launches"] if level != "lean" else 0)
calls = {e["args"]["correlation"] for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")}
unlinked = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") and
            e["args"].get("correlation") not in calls]
if level == "lean":
    expect("calls", len(calls), 0)
else:
    # CUPTI gives kernels that a graph's loop runs no number.
    expect("device work without its call", sum(not e["name"].startswith("count_down") for e in unlinked), 0)
memory = [e["args"]["Bytes"] for e in trace["traceEvents"] if e.get("name") == "[memory]"]
if level != "lean":
    expect("memory taken", sum(size > 0 for size in memory), counts["allocations"])
    expect("memory given back", sum(size < 0 for size in memory), counts["releases"])
shared = [e for e in kernels if e["name"].startswith("with_shared")]
expect("occupancy with 100 KB of shared memory, %",
       [e["args"].get("est. achieved occupancy %") for e in shared], [9])
waits = [e for e in events if e["cat"] == "cuda_sync" and e["name"] == "Stream Wait Event"]
expect("waits that know what they waited for",
       sum(e["args"].get("wait_on_cuda_event_record_corr_id", -1) > 0 for e in waits), len(waits))
expect("such waits", len(waits), 1 if level == "full" else 0)
sys.exit(1 if problems else 0)
