#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare_traces.py ORIGINAL EXPORTED: every event and argument of a Kineto trace is in its export.

Events are compared as sets, parsed by Python's json, numbers exactly. What may differ:
- `ts` of rows that name processes and threads (ph M): they have no time of their own;
- the tid of a span that overlaps another in part: it moves to a lane, which must say whose it is;
- added name rows, and the key order.
"""
import collections
import decimal
import gzip
import json
import sys


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal)


def lanes_of(events):
    """(pid, tid) of a lane -> tid of the track."""
    return {
        (e["pid"], e["tid"]): e["args"]["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_lane_of"
    }


def frozen(value):
    if isinstance(value, dict):
        return tuple(sorted((k, frozen(v)) for k, v in value.items()))
    if isinstance(value, list):
        return tuple(frozen(v) for v in value)
    if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool):
        return decimal.Decimal(value).normalize()
    return value


def normal(event, lanes):
    event = dict(event)
    key = (event.get("pid"), event.get("tid"))
    if key in lanes:
        event["tid"] = lanes[key]
    if event["ph"] == "M":
        event.pop("ts", None)
    if not event.get("args"):
        event.pop("args", None)
    return frozen(event)


def main():
    original, exported = load(sys.argv[1]), load(sys.argv[2])
    lanes = lanes_of(exported["traceEvents"])
    missing = []
    there = collections.Counter(normal(e, lanes) for e in exported["traceEvents"])
    for event in original["traceEvents"]:
        key = normal(event, {})
        if there[key] > 0:
            there[key] -= 1
        elif not (event["ph"] == "M" and key in there):  # Kineto repeats some rows word by word
            missing.append(event)
    added = [dict(e) for e, count in there.items() for _ in range(count)]
    unexpected = [e for e in added if not (e["ph"] == "M")]
    for key, value in original.items():
        if key != "traceEvents" and frozen(exported.get(key)) != frozen(value):
            missing.append({key: value})
    for event in missing[:10]:
        print("missing:", json.dumps(event, default=str)[:400])
    for event in unexpected[:10]:
        print("not in the original:", str(event)[:400])
    print(f"{len(original['traceEvents'])} events, {len(missing)} missing, {len(unexpected)} unexpected, "
          f"{len(lanes)} lanes, {len(added)} name rows added")
    sys.exit(1 if missing or unexpected else 0)


if __name__ == "__main__":
    main()
