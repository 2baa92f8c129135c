#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares Sonde's records of CUDA calls with CUPTI's own.

usage: check_links.py CALLS TRACE.json [TAGS]
  CALLS   what src/collect/cuda/call_log.h wrote
  TAGS    what tests/cuda/tag_ranges.cpp wrote: then each piece of work must be joined to the operator whose range was
          the innermost when CUPTI saw the call
"""

import collections
import json
import sys

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = {"cuda_runtime": "runtime", "cuda_driver": "driver"}
# Both clocks are CLOCK_REALTIME, but Sonde's is converted from the processor's counter.
CLOCK_NS = 50_000
# Sonde and the tagging tool see an operator one after the other.
BEGIN_NS = 500_000
problems = 0


def report(what, wrong, of):
    global problems
    print(f"{'DIFF' if wrong or not of else 'ok  '} {what}: {of - len(wrong)} of {of}")
    for line in wrong[:8]:
        print("      " + line)
    problems += len(wrong) + (of == 0)


def load_calls(path):
    calls, tags = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            kind, correlation, *rest = line.split()
            if kind == "call":
                calls[int(correlation), rest[0]] = [int(field) for field in rest[1:]]
            else:
                tags[int(correlation)] = int(rest[1])
    return calls, tags


def check_calls(recorded, calls, start_ns):
    """The same thread, and the record of the call is inside the span."""
    wrong, threads = [], collections.defaultdict(set)
    for event in recorded:
        number = event["args"]["correlation"]
        # For a driver call inside a runtime call, CUPTI has only the record of the outer one.
        call = calls.get((number, CALLS[event["cat"]])) or calls.get((number, "runtime"))
        if call is None:
            wrong.append(f"CUPTI has no {event['name']} {number}")
            continue
        thread, begin, end = call
        threads[thread].add(event["tid"])
        start = start_ns(event)
        if start > end + CLOCK_NS or start + event["dur"] * 1000 < begin - CLOCK_NS:
            wrong.append(f"{event['name']} {number}: {start} for {event['dur']} us, not {begin} to {end}")
    report("calls that CUPTI has too, at the same time", wrong, len(recorded))
    report("threads", [f"{thread}: {tids}" for thread, tids in threads.items() if len(tids) != 1], len(threads))


def check_links(events, work, tags, path, start_ns):
    ranges = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            number, begin, name = line.rstrip("\n").split(" ", 2)
            ranges[int(number)] = (int(begin), name.split(", ")[0])
    owners = {e["args"]["External id"]: e for e in events
              if e["cat"] in ("cpu_op", "user_annotation") and "External id" in e.get("args", {})}
    wrong, compared = [], 0
    for event in work:
        tag = ranges.get(tags.get(event["args"]["correlation"]))
        if tag is None:
            continue
        compared += 1
        owner = owners.get(event["args"].get("External id"))
        if owner is None or owner["name"] != tag[1] or abs(start_ns(owner) - tag[0]) > BEGIN_NS:
            found = f"{owner['name']} at {start_ns(owner)}" if owner else "nobody"
            wrong.append(f"{event['name'][:50]}: {found}, not {tag[1]} at {tag[0]}")
    print(f"     work that CUPTI tagged: {compared} of {len(work)}")
    report("work joined to the range that CUPTI names", wrong, compared)


def main():
    calls, tags = load_calls(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        trace = json.load(file)
    base = trace["baseTimeNanoseconds"]
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]

    def start_ns(event):
        return base + round(event["ts"] * 1000)

    check_calls([e for e in events if e["cat"] in CALLS], calls, start_ns)
    if len(sys.argv) > 3:
        check_links(events, [e for e in events if e["cat"] in WORK], tags, sys.argv[3], start_ns)
    sys.exit(1 if problems else 0)


main()
