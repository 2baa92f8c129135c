#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a memory timeline of ours with the one that PyTorch wrote for the same steps.

    compare_memory.py SONDE TRACE THEIRS.raw.json.gz all|peak|trace

all    every event has its match: the same action, bytes and category as often
peak   the same peak, and each category there within 2 % of it: the two have different data about a few blocks
trace  a trace from PyTorch, which does not name tensors: the same events of the allocator at the same times, the peak at
       the same time, the same totals at every moment, and the categories that follow from lifetimes and shapes, to the byte
"""

import collections
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

CATEGORIES = ["parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail", "unknown"]
CREATE, DESTROY = 2, 4
TOLD = ("parameter", "optimizer_state", "input", "activation", "gradient", "autograd_detail")


def ours(sonde: str, trace: str) -> list:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.raw.json.gz"
        subprocess.run([sonde, "memory", trace, "--device", "cuda:0", "-o", path], check=True, stderr=subprocess.DEVNULL)
        return json.loads(gzip.decompress(path.read_bytes()))


def peak(events: list) -> tuple[int, int, dict[str, int]]:
    live, most, when, at = [0] * len(CATEGORIES), -1, 0, []
    for time, _, size, category in events:
        live[category] += size
        if sum(live) > most:
            most, when, at = sum(live), time, list(live)
    return when, most, dict(zip(CATEGORIES, at))


def totals(events: list) -> dict[int, int]:
    """The live bytes after each time at which the allocator did something."""
    live, after = 0, {}
    for time, action, size, _ in events:
        live += size
        if action in (CREATE, DESTROY):
            after[time] = live
    return after


def check_all(a: list, b: list) -> list[str]:
    count = [collections.Counter(tuple(event[1:]) for event in events) for events in (a, b)]
    return [f"{'ours' if one - two else 'theirs'} alone: {event}" for one, two in (count, count[::-1]) for event in (one - two)]


def check_peak(a: list, b: list) -> list[str]:
    (_, most, mine), (_, their_most, theirs) = peak(a), peak(b)
    wrong = [] if most == their_most else [f"the peak is {most}, theirs {their_most}"]
    return wrong + [f"{name}: {mine[name]}, theirs {theirs[name]}" for name in CATEGORIES
                    if abs(mine[name] - theirs[name]) > 0.02 * their_most]


def check_trace(a: list, b: list) -> list[str]:
    wrong = []
    if [e[:3] for e in a if e[1] in (CREATE, DESTROY)] != [e[:3] for e in b if e[1] in (CREATE, DESTROY)]:
        wrong.append("the allocations and releases differ")
    mine, theirs = totals(a), totals(b)
    apart = {theirs[time] - mine[time] for time in mine if time in theirs}
    if apart != {0} or mine.keys() != theirs.keys():
        wrong.append(f"totals differ by {sorted(apart)[:5]}")
    at_peak, at_theirs = peak(a), peak(b)
    if at_peak[0] != at_theirs[0]:
        wrong.append(f"the peak is at {at_peak[0]}, theirs at {at_theirs[0]}")
    return wrong + [f"{name}: {at_peak[2][name]}, theirs {at_theirs[2][name]}" for name in TOLD
                    if at_peak[2][name] != at_theirs[2][name]]


def main() -> int:
    sonde, trace, theirs, how = sys.argv[1:]
    events, their_events = ours(sonde, trace), json.loads(gzip.decompress(Path(theirs).read_bytes()))
    wrong = {"all": check_all, "peak": check_peak, "trace": check_trace}[how](events, their_events)
    for line in wrong[:20]:
        print(line)
    print(f"{len(events)} events of ours, {len(their_events)} of PyTorch's, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
