#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/short_processes.py BUILD [COUNT]: what recording adds to a short process.

Starts COUNT (200) processes one after another, alone and under `sonde run`, in turns, and prints the milliseconds from the start of each until it
has ended: the least, the first tenth and the middle. On a busy machine the first tenth says more than the middle.

`one scope` is a program that records a scope. `idle` has nothing to record: what the preload library costs. The rows below are a floor, what any
recorder like this one adds, and are measured without it: `libraries` loads what the agent links into the first program, `threads` and `files`
are bench_short_floor. BUILD has the programs of tests/stress and bench (targets `stress_programs`, `bench_short_floor`).
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5


def run_each(count, words, preload):
    """Milliseconds that each of the processes took."""
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = preload
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        pid = os.posix_spawn(words[0], words, environment, file_actions=quiet)
        _, status = os.waitpid(pid, 0)
        times.append(1000 * (time.perf_counter() - begin))
        if status != 0:
            sys.exit(f"{words}: status {status}")
    return times


def times_of(count, words, recorder=(), preload=""):
    """The same, in a folder of its own; under `recorder` if there is one."""
    driver = [sys.executable, os.path.abspath(__file__), "--each", str(count), preload, *words]
    with tempfile.TemporaryDirectory(dir=os.environ.get("SONDE_BENCH_FOLDER")) as folder:
        done = subprocess.run([*recorder, *driver], cwd=folder, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def summed_up(times):
    times = sorted(times)
    return [times[0], times[len(times) // 10], statistics.median(times)]


def main():
    if len(sys.argv) > 4 and sys.argv[1] == "--each":
        return print(json.dumps(run_each(int(sys.argv[2]), sys.argv[4:], sys.argv[3])))
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        sys.exit(__doc__)
    build, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    recorder = [f"{build}/bin/sonde", "run", "-q", "-o", "run.sonde", "--"]
    scope, floor = [f"{build}/bin/stress_awkward", "exit_0"], [f"{build}/bin/bench_short_floor"]
    rows = {"one scope": (scope, {"recorder": recorder}),
            "idle": (["/bin/true"], {"recorder": recorder}),
            "libraries": (scope, {"preload": f"{build}/lib/libsonde.so"}),
            "threads": (floor, {"words": [*floor, "threads"]}),
            "files": (floor, {"words": [*floor, "files"]})}
    taken = {name: ([], []) for name in rows}
    for _ in range(ROUNDS):
        for name, (words, changed) in rows.items():
            taken[name][0].extend(times_of(count // ROUNDS, words))
            taken[name][1].extend(times_of(count // ROUNDS, **{"words": words, **changed}))
    print(f"{'':10}{'':>12}{'least':>9}{'tenth':>9}{'middle':>9}   ms a process, of {count // ROUNDS * ROUNDS}")
    for name, both in taken.items():
        without, with_it = (summed_up(times) for times in both)
        added = [after - before for before, after in zip(without, with_it)]
        for what, row in (("alone", without), ("with", with_it), ("added", added)):
            print(f"{name if what == 'alone' else '':10}{what:>12}" + "".join(f"{value:9.2f}" for value in row))


if __name__ == "__main__":
    main()
