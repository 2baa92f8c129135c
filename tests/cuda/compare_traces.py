#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what two traces say about the GPU work inside an annotation "measured".

usage: compare_traces.py TORCH.json SONDE.json
"""

import collections
import gzip
import json
import sys

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
# What Kineto gets wrong, or what differs from run to run.
NOT_COMPARED = {"External id", "correlation", "device", "context", "stream", "queued", "graph id", "graph node id",
                "memory bandwidth (GB/s)"}


def enclosing(op, events, kernels):
    around = [e for e in events if e.get("cat") == "cpu_op" and e["tid"] == op["tid"] and e["name"] not in kernels and
              e["ts"] <= op["ts"] and op["ts"] + op["dur"] <= e["ts"] + e["dur"]]
    return max(around, key=lambda e: e["ts"], default=op)


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    measured = [e for e in events if e.get("cat") == "user_annotation" and e["name"] == "measured"]
    if len(measured) != 1:
        sys.exit(f"{path}: {len(measured)} annotations \"measured\"")
    begin = measured[0]["ts"]
    end = begin + measured[0]["dur"]
    calls = {}
    ops = {}
    kernels = {e["name"] for e in events if e.get("cat") == "kernel"}
    for event in events:
        inside = event.get("ph") == "X" and begin <= event["ts"] <= end
        if inside and event.get("cat") in ("cuda_runtime", "cuda_driver"):
            calls[event["args"]["correlation"]] = event
        if event.get("cat") == "cpu_op" and "External id" in event.get("args", {}):
            ops[event["args"]["External id"]] = event
    # While torch.profiler is on, and only then, Inductor makes an operator around each Triton kernel that has the
    # kernel's own name: the operator around that one is compared.
    for number, op in ops.items():
        ops[number] = (enclosing(op, events, kernels) if op["name"] in kernels else op)["name"]
    work = [e for e in events if e.get("cat") in WORK and e["args"]["correlation"] in calls]
    return {"calls": calls, "ops": ops, "work": work, "events": events}


def counter(items):
    return collections.Counter(items)


def report(what, torch, sonde, may_have_more=False):
    missing = torch - sonde
    more = sonde - torch
    ok = not missing and (may_have_more or not more)
    print(f"{'ok  ' if ok else 'DIFF'} {what}: torch {sum(torch.values())}, sonde {sum(sonde.values())}")
    for name, count in list(missing.items())[:12]:
        print(f"      only torch: {count} x {name}")
    for name, count in list(more.items())[:12]:
        print(f"      only sonde: {count} x {name}")
    return ok


def main():
    torch, sonde = load(sys.argv[1]), load(sys.argv[2])
    both = (torch, sonde)
    ok = report("device work by name", *(counter(e["name"] for e in t["work"]) for t in both))
    launching = [counter(t["calls"][e["args"]["correlation"]]["name"] for e in t["work"]) for t in both]
    ok &= report("work by the call behind it", *launching)
    called = [counter(e["name"] for e in t["calls"].values()) for t in both]
    # Kineto has no names for the newest calls of CUDA: they are compared by their number.
    unnamed = called[0].pop("INVALID", 0)
    newer = called[1] - called[0]
    if unnamed and sum(newer.values()) == unnamed:
        print(f"     calls that only sonde has names for: {dict(newer)}")
        called[1] -= newer
    ok &= report("calls by name", *called)
    linked = [counter((e["name"][:60], t["ops"].get(e["args"].get("External id"), "none")) for e in t["work"])
              for t in both]
    ok &= report("work by its operator", *linked)
    unlinked = sum("External id" not in e["args"] for e in sonde["work"])
    print(f"     sonde: {unlinked} of {len(sonde['work'])} without an operator; "
          f"torch: {sum('External id' not in e['args'] for e in torch['work'])}")

    def details(trace):
        return counter((e["name"][:60],) + tuple(sorted((k, str(v)) for k, v in e["args"].items()
                                                       if k not in NOT_COMPARED and
                                                       (k != "est. achieved occupancy %" or
                                                        e["args"].get("shared memory", 0) <= 48 << 10)))
                       for e in trace["work"])

    keys = set().union(*(e["args"] for e in torch["work"]))
    for event in sonde["work"]:
        event["args"] = {k: v for k, v in event["args"].items() if k in keys}
    ok &= report("arguments", details(torch), details(sonde))
    for name in ("gpu_user_annotation", "cuda_sync", "overhead"):
        print(f"     {name}: torch {sum(e.get('cat') == name for e in torch['events'])}, "
              f"sonde {sum(e.get('cat') == name for e in sonde['events'])}")
    sys.exit(0 if ok else 1)


main()
