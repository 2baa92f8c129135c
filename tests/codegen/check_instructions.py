#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the instructions of scopes with callgrind and checks them against a limit.

usage: check_instructions.py VALGRIND PROGRAM

Each number is the difference between a loop with a scope and an empty loop, per scope. For one compiler
the counts are always the same. The limits leave room for another compiler, but not for another branch.
The loops fit in a chunk, so that the slow path runs only once and can be subtracted.
"""
import re
import subprocess
import sys
import tempfile

LIMITS = {"idle": 3, "recording": 52, "lap": 34}
FEW, MANY = 100, 1100


def instructions(valgrind, program, mode, count):
    function = {"empty": "measured_empty", "lap": "measured_lap"}.get(mode, "measured_scope")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--collect-atstart=no",
             f"--toggle-collect={function}", program, mode, str(count)],
            capture_output=True, text=True)
    collected = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if run.returncode != 0 or not collected:
        sys.exit(f"{mode}: exit {run.returncode}\n{run.stderr[-2000:]}")
    return int(collected.group(1))


def main():
    valgrind, program = sys.argv[1:]
    per_iteration = {}
    for mode in ("empty", *LIMITS):
        difference = instructions(valgrind, program, mode, MANY) - instructions(valgrind, program, mode, FEW)
        per_iteration[mode] = difference / (MANY - FEW)
    failed = False
    for mode, limit in LIMITS.items():
        cost = per_iteration[mode] - per_iteration["empty"]
        print(f"{mode}: {cost:g} instructions, at most {limit}")
        failed = failed or cost > limit or cost <= 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
