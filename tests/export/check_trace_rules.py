#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_trace_rules.py TRACE…: the rules that readers of Kineto traces rely on.

Perfetto and chrome://tracing: valid JSON in UTF-8; X events of one line nest; flow ends are within a slice.
HTA: device work has a `stream` and host work has none; correlated rows have their partner on the other side, which came
first; forward-backward arrows are where operators begin, and arrows to the device have the correlation of their row;
waits name what they wait for; copies have their size; steps are called ProfilerStep#N and follow one another; Python
calls name their callers; a rank is in distributedInfo; only the window has cat "Trace".

check_trace_rules.py --self-test   shows that each rule can be broken
"""
import collections
import decimal
import gzip
import json
import re
import sys
import unittest

DEVICE_CATS = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_event"}
WORK_CATS = {"kernel", "gpu_memcpy", "gpu_memset"}
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
        if event["ph"] in "stfbe":
            needed |= {"id", "cat"}
        if not needed <= set(event):
            yield f"{sorted(needed - set(event))} missing in {event}"
        if event["ph"] == "X" and event.get("dur", 0) < 0:
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


def rows_by_start(trace):
    """X events by line and start."""
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            found[(event["pid"], event["tid"], ns(event["ts"]))].append(event)
    return found


def check_flow_rows(trace):
    rows = rows_by_start(trace)
    for event in trace["traceEvents"]:
        if event["ph"] not in "sf" or event["cat"] not in ("ac2g", "fwdbwd"):
            continue
        here = rows[(event["pid"], event["tid"], ns(event["ts"]))]
        if event["cat"] == "fwdbwd" and not any(row["cat"] == "cpu_op" for row in here):
            yield f"no operator begins where an arrow says: {event}"
        numbers = [row["args"]["correlation"] for row in here if "correlation" in row.get("args", {})]
        if event["cat"] == "ac2g" and numbers and event["id"] not in numbers:
            yield f"an arrow has another number than its row, {numbers}: {event}"


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
    calls = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {}):
            calls[event["args"]["correlation"]] = ns(event["ts"])
    for event in trace["traceEvents"]:
        call = calls.get(event.get("args", {}).get("correlation")) if event.get("cat") in WORK_CATS else None
        if call is not None and ns(event["ts"]) < call:
            yield f"device work began before its call: {event}"
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


def check_step_order(trace):
    steps = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#"):
            steps[event["pid"]].append((ns(event["ts"]), ns(event["dur"]), int(event["name"][13:])))
    for of_process in steps.values():
        of_process.sort()
        for (start, length, number), (following, _, later) in zip(of_process, of_process[1:]):
            if start + length > following or later <= number:
                yield f"steps {number} and {later} do not follow one another"


def check_waits_and_copies(trace):
    for event in trace["traceEvents"]:
        cat, args = event.get("cat"), event.get("args", {})
        if event["ph"] != "X":
            continue
        if cat == "cuda_sync" and "cuda_sync_kind" not in args:
            yield f"a wait does not say its kind: {event}"
        if cat == "cuda_sync" and "Event" in event["name"]:
            if not {"wait_on_stream", "wait_on_cuda_event_record_corr_id"} <= set(args):
                yield f"a wait does not say for what: {event}"
        if cat in ("gpu_memcpy", "gpu_memset") and "bytes" not in args:
            yield f"a copy does not say its size: {event}"


def check_python_calls(trace):
    calls = [e["args"] for e in trace["traceEvents"] if e.get("cat") == "python_function" and "Python id" in e.get("args", {})]
    ids = [args["Python id"] for args in calls]
    if len(ids) != len(set(ids)):
        yield "two Python calls have one number"
    known = set(ids) | {None}
    for args in calls:
        if args.get("Python parent id") not in known:
            yield f"a Python call has an unknown caller: {args}"


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


CHECKS = [check_skeleton, check_shapes, check_nesting, check_flows, check_flow_rows, check_streams, check_correlation,
          check_steps, check_step_order, check_waits_and_copies, check_python_calls, check_rank, check_window]


class SelfTest(unittest.TestCase):
    @staticmethod
    def trace(*events):
        return {"schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", "baseTimeNanoseconds": 0,
                "traceEvents": list(events), "traceName": "x"}

    @staticmethod
    def row(cat, ts, dur, **more):
        return {"ph": "X", "cat": cat, "name": "n", "pid": 1, "tid": 1, "ts": ts, "dur": dur} | more

    def problems(self, *events):
        return [check.__name__ for check in CHECKS for _ in check(self.trace(*events))]

    def test_what_readers_rely_on_is_missed_where_it_is_not(self):
        row = self.row
        call = row("cuda_runtime", 5, 1, args={"correlation": 9})
        kernel = row("kernel", 7, 1, pid=0, args={"correlation": 9, "stream": 7, "device": 0})
        arrow = {"ph": "s", "cat": "ac2g", "id": 9, "name": "ac2g", "pid": 1, "tid": 1, "ts": 5}
        self.assertEqual(self.problems(call, kernel, arrow), [])
        for check, events in {
            "check_nesting": [row("cpu_op", 1, 5), row("cpu_op", 3, 5)],
            "check_shapes": [row("cpu_op", 1, -1)],
            "check_streams": [row("kernel", 1, 1)],
            "check_correlation": [call, kernel | {"ts": 1}],
            "check_flow_rows": [call, kernel, arrow | {"id": 8}],
            "check_flows": [call, arrow | {"ts": 6}],
            "check_steps": [row("user_annotation", 1, 1, name="ProfilerStep")],
            "check_step_order": [row("user_annotation", 5, 9, name="ProfilerStep#2"),
                                 row("user_annotation", 20, 1, name="ProfilerStep#1")],
            "check_waits_and_copies": [row("gpu_memcpy", 1, 1, args={"stream": 7, "device": 0})],
            "check_python_calls": [row("python_function", 1, 1, args={"Python id": 1, "Python parent id": 4})],
        }.items():
            with self.subTest(check):
                self.assertIn(check, self.problems(*events))


def main():
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=["check_trace_rules"])
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
