#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the instructions of scopes with callgrind, or those for AArch64 with qemu, and checks them against a limit.

usage: check_instructions.py VALGRIND PROGRAM
       check_instructions.py QEMU PROGRAM NM

Each number is the difference between a loop with a scope and an empty loop, per scope. For one compiler
the counts are always the same. The limits leave room for another compiler, but not for another branch.
The loops fit in a chunk, so that the slow path runs only once and can be subtracted.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIMITS = {"idle": 3, "recording": 52, "lap": 34}
AARCH64_LIMITS = {"idle": 3, "recording": 54, "lap": 32}
FEW, MANY = 100, 1100


def function_of(mode):
    return {"empty": "measured_empty", "lap": "measured_lap"}.get(mode, "measured_scope")


def instructions(valgrind, program, mode, count):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--collect-atstart=no",
             f"--toggle-collect={function_of(mode)}", program, mode, str(count)],
            capture_output=True, text=True)
    collected = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if run.returncode != 0 or not collected:
        sys.exit(f"{mode}: exit {run.returncode}\n{run.stderr[-2000:]}")
    return int(collected.group(1))


def instructions_by_qemu(qemu, program, mode, count, symbols):
    """One line of qemu's log for each instruction of the function itself; what it calls is the slow path."""
    address, size = re.search(rf"^(\w+) (\w+) T {function_of(mode)}$", symbols, re.M).groups()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        run = subprocess.run([qemu, "-singlestep", "-d", "exec,nochain", "-dfilter", f"0x{address}+0x{size}", "-D", log,
                              program, mode, str(count)], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{mode}: exit {run.returncode}\n{run.stderr[-2000:]}")
        return sum(line.startswith("Trace ") for line in log.read_text().splitlines())


def main():
    tool, program, *nm = sys.argv[1:]
    symbols = subprocess.run([*nm, "-S", program], check=True, capture_output=True, text=True).stdout if nm else ""
    limits = AARCH64_LIMITS if nm else LIMITS

    def count(mode, times):
        return instructions_by_qemu(tool, program, mode, times, symbols) if nm else instructions(tool, program, mode, times)

    per_iteration = {}
    for mode in ("empty", *limits):
        difference = count(mode, MANY) - count(mode, FEW)
        per_iteration[mode] = difference / (MANY - FEW)
    failed = False
    for mode, limit in limits.items():
        cost = per_iteration[mode] - per_iteration["empty"]
        print(f"{mode}: {cost:g} instructions, at most {limit}")
        failed = failed or cost > limit or cost <= 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
