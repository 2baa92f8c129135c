#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the trace of a killed CUDA program has its device's work up to shortly before the end.

usage: check_killed.py TRACE.json
"""

import json
import sys

MOST_LOST_US = 1e6  # four flushes

with open(sys.argv[1], encoding="utf-8") as file:
    events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
ends = {"call": [], "work": []}
for event in events:
    kind = "work" if event["cat"] == "kernel" else "call" if event["cat"] in ("cuda_runtime", "cuda_driver") else None
    if kind is not None:
        ends[kind].append(event["ts"] + event["dur"])
if not ends["call"] or not ends["work"]:
    sys.exit(f"DIFF {len(ends['call'])} calls, {len(ends['work'])} kernels")
lost_us = max(ends["call"]) - max(ends["work"])
print(f"{'ok  ' if lost_us < MOST_LOST_US else 'DIFF'} killed: {len(ends['call'])} calls, {len(ends['work'])} kernels, the last"
      f" {lost_us / 1e3:.1f} ms before the last call")
sys.exit(lost_us >= MOST_LOST_US)
