#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the traces of tests/cuda/ends.py, together, hold its 20 additions, or report those that are missing.

usage: check_ends.py HOW TRACE.json...
"""

import json
import sys

ADDITIONS = 20

how, paths = sys.argv[1], sys.argv[2:]
kernels, missing, other_losses = 0, 0, []
for path in paths:
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    kernels += sum(1 for event in trace["traceEvents"] if event.get("cat") == "kernel" and "add" in event["name"].lower())
    for entry in trace.get("sonde_ledger", []):
        if entry["kind"] == "work_missing":
            missing += entry["count"]
        elif entry["kind"] in ("source_failed", "undecodable", "uncorrelated"):
            other_losses.append(entry)
# A killed one may have passed on some; zeros() launches too.
is_right = ADDITIONS <= kernels + missing <= ADDITIONS + 2 if how == "term" else kernels == ADDITIONS and missing == 0
is_right = is_right and not other_losses
print(f"{'ok  ' if is_right else 'DIFF'} {how}: {kernels} additions, {missing} calls whose work is missing, {len(paths)} files", *other_losses)
sys.exit(not is_right)
