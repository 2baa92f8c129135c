#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_trace_rules.py TRACE…: the rules that readers of Kineto traces rely on.

Perfetto and chrome://tracing: valid JSON in UTF-8; X events of one line nest; flow ends lie within a slice.
HTA: device work has a `stream` and host work has none; correlated rows have their partner on the other side; steps are
called ProfilerStep#N; a rank stands in distributedInfo; the window has cat "Trace" and nothing else has.
"""
import collections
import decimal
import gzip
import json
import re
import sys

DEVICE_CATS = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_event"}
HOST_CATS = {"cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver"}


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        text = file.read().decode("utf-8")  # strict
    return json.loads(text, parse_float=decimal.Decimal, parse_constant=refuse, object_pairs_hook=unique)


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def unique(pairs):
    keys = [key for key, _ in pairs]
    twice = [key for key, count in collections.Counter(keys).items() if count > 1]
    if twice:
        raise ValueError(f"keys stand twice in one object: {twice}")
    return dict(pairs)


def ns(micros):
    scaled = decimal.Decimal(micros) * 1000
    if scaled != int(scaled):
        raise ValueError(f"{micros} is finer than a nanosecond")
    return int(scaled)


def check_skeleton(trace):
    keys = list(trace)
    expected = ["schemaVersion", "deviceProperties", "displayTimeUnit", "baseTimeNanoseconds", "traceEvents", "traceName"]
    if [key for key in keys if key in expected] != expected:
        yield f"top-level keys are {keys}"
    if keys[-1:] != ["traceName"]:
        yield "traceName is not the last key"
    if not isinstance(trace["baseTimeNanoseconds"], int):
        yield "baseTimeNanoseconds is no integer"


def check_shapes(trace):
    for event in trace["traceEvents"]:
        needed = {"ph", "pid", "tid", "ts", "name"}
        if event["ph"] == "X":
            needed |= {"dur"}
        if event["ph"] in "sfbe":
            needed |= {"id", "cat"}
        if not needed <= set(event):
            yield f"{sorted(needed - set(event))} missing in {event}"
        if event["ph"] == "X" and event["dur"] < 0:
            yield f"a negative duration in {event}"


def lines(trace):
    by_line = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            start = ns(event["ts"])
            by_line[(event["pid"], event["tid"])].append((start, start + ns(event["dur"]), event["name"]))
    return by_line


def check_nesting(trace):
    for line, spans in lines(trace).items():
        open_ends = []
        for start, end, name in sorted(spans, key=lambda s: (s[0], -s[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                yield f"{name[:60]!r} of line {line} overlaps another in part"
                break
            open_ends.append(end)


def check_flows(trace):
    starts = {(line, start) for line, spans in lines(trace).items() for start, _, _ in spans}
    begun = {(e["cat"], e["id"]) for e in trace["traceEvents"] if e["ph"] == "s"}
    for event in trace["traceEvents"]:
        if event["ph"] not in "sf":
            continue
        if event["ph"] == "f" and event.get("bp") != "e":
            yield f"a flow end does not bind to the slice around it: {event}"
        if event["cat"] == "ac2g" and ((event["pid"], event["tid"]), ns(event["ts"])) not in starts:
            yield f"a flow stands at no slice: {event}"
        if event["cat"] == "fwdbwd" and event["ph"] == "f" and ("fwdbwd", event["id"]) not in begun:
            yield f"a flow has no start: {event}"


def check_streams(trace):
    for event in trace["traceEvents"]:
        cat, args = event.get("cat"), event.get("args", {})
        if event["ph"] != "X":
            continue
        if cat in DEVICE_CATS and (args.get("stream") is None or args.get("device") is None):
            yield f"device work without stream or device: {event}"
        if cat in HOST_CATS - {"cpu_op"} and "stream" in args:
            yield f"host work with a stream: {event}"


def check_correlation(trace):
    host, device = collections.Counter(), collections.Counter()
    for event in trace["traceEvents"]:
        correlation = event.get("args", {}).get("correlation") if event["ph"] == "X" else None
        if correlation is None:
            continue
        (device if event["cat"] in DEVICE_CATS else host)[correlation] += 1
    lost = set(device) - set(host)
    if host and len(lost) > 0:
        yield f"{len(lost)} of {len(device)} correlations of device work have no call"
    if any(count > 1 for count in host.values()):
        yield "a correlation has two calls"


def check_steps(trace):
    for event in trace["traceEvents"]:
        if "ProfilerStep" not in event["name"] or event["ph"] != "X":
            continue
        if not re.fullmatch(r"ProfilerStep#\d+", event["name"]):
            yield f"a step is called {event['name']!r}"
        if event["cat"] not in ("user_annotation", "gpu_user_annotation"):
            yield f"a step has the category {event['cat']!r}"


def check_rank(trace):
    if "distributedInfo" in trace and not isinstance(trace["distributedInfo"].get("rank"), int):
        yield "distributedInfo has no rank"


def check_window(trace):
    events = trace["traceEvents"]
    traces = [e for e in events if e.get("cat") == "Trace"]
    if not traces:
        return
    span, sort, start, end = events[-4:]
    if span.get("cat") != "Trace" or sort["name"] != "process_sort_index":
        yield "the window is not among the last four events"
    if not start["name"].startswith("Iteration Start") or end["name"] != "Record Window End":
        yield "the last two events are not those that end a window"


CHECKS = [check_skeleton, check_shapes, check_nesting, check_flows, check_streams, check_correlation, check_steps,
          check_rank, check_window]


def main():
    failed = False
    for path in sys.argv[1:]:
        trace = load(path)
        for check in CHECKS:
            for problem in list(check(trace))[:5]:
                failed = True
                print(f"{path}: {check.__name__}: {problem}"[:500])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
