#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/short_processes.py BUILD [COUNT]: what recording adds to each of COUNT (200) short processes.

A shell starts the processes one after another: with a program that has one scope, alone and under `sonde run`, in turns.
The difference is divided by COUNT, so the cost of starting `sonde run` itself is a small part of it. `idle` is a program that
has nothing to record: what the preload library costs. BUILD has the programs of tests/stress (target `stress_programs`).
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5


def seconds(command, folder):
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def main():
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        sys.exit(__doc__)
    build, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    programs = {"one scope": f"'{build}/bin/stress_awkward' exit_0", "idle": "/bin/true"}
    print(f"{'program':12}{'alone':>10}{'recorded':>10}{'added':>10}   ms a process, middle and least of {ROUNDS} rounds of {count}")
    for name, program in programs.items():
        loop = ["/bin/sh", "-c", f"i=0; while [ $i -lt {count} ]; do {program}; i=$((i + 1)); done"]
        alone, recorded = [], []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory(dir=os.environ.get("SONDE_BENCH_FOLDER")) as folder:
                alone.append(1000 * seconds(loop, folder) / count)
                recorded.append(1000 * seconds([f"{build}/bin/sonde", "run", "-q", "-o", "run.sonde", "--", *loop], folder) / count)
        for what in (statistics.median, min):
            print(f"{name:12}{what(alone):10.2f}{what(recorded):10.2f}{what(recorded) - what(alone):10.2f}")


if __name__ == "__main__":
    main()
