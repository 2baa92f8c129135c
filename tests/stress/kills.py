# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that are killed at random moments, and what their recordings hold against what they had counted."""
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from trial import CHUNKS_MOVED_AT_ONCE, EVENTS_OF_A_CHUNK, TIMEOUT_S, check_sums, info, kill_group, ledger, require

SMALL_BUDGET = 2 << 20
LARGE_BUDGET = 256 << 20
WAYS = ("profiler", "run", "python", "run_killed_too")
POLICIES = ("spill", "drop", "ring")
PACES = ("paced", "paced", "flood")


class Progress:
    """What the program counts, in a file that both have mapped."""

    def __init__(self, folder):
        self.path = Path(folder) / "progress"
        self.path.write_bytes(bytes(4096))
        with open(self.path, "r+b") as file:
            self.numbers = mmap.mmap(file.fileno(), 4096)

    def threads_at_work(self):
        return struct.unpack_from("<Q", self.numbers, 0)[0]

    def turns(self):
        return sum(struct.unpack_from("<63Q", self.numbers, 8))


def command_of(bench, way, policy, pace, budget, threads, progress):
    program = [bench.options.counted, str(progress.path), pace, str(threads)]
    if way == "profiler":
        return program + ["run.sonde", policy, str(budget)]
    if way == "python":
        script = Path(__file__).with_name("counted.py")
        program = [sys.executable, str(script), bench.library, str(progress.path), pace, str(threads)]
    return [bench.sonde, "run", "-q", "--force", "--policy", policy, "--budget", str(budget), "-o", "run.sonde", "--", *program]


def program_of(child, way):
    """The process that records: the command itself, or the child of `sonde run` that has the program's name."""
    if way == "profiler":
        return child.pid
    wanted = "python" if way == "python" else "stress_counted"
    for line in subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(child.pid)], capture_output=True, text=True,
                               check=False).stdout.splitlines():
        pid, name = line.split(None, 1)
        if name.startswith(wanted[:15]):
            return int(pid)
    return None


def kill(child, way):
    if way == "run_killed_too":
        return kill_group(child)
    pid = program_of(child, way)
    require(pid is not None, "the program is gone")
    os.kill(pid, signal.SIGKILL)
    child.wait(timeout=TIMEOUT_S)


def kill_one(bench, folder, way, policy, pace):
    threads = bench.rng.choice((1, 2, 3))
    # Little room where more is recorded than fits, so that there is something to lose.
    budget = SMALL_BUDGET if pace == "flood" else LARGE_BUDGET
    progress = Progress(folder)
    child = subprocess.Popen(command_of(bench, way, policy, pace, budget, threads, progress), cwd=folder,
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        end = time.monotonic() + TIMEOUT_S
        while (progress.threads_at_work() < threads or progress.turns() == 0) and time.monotonic() < end:
            require(child.poll() is None, f"ended by itself: {child.returncode}")
            time.sleep(0.0005)
        time.sleep(bench.rng.uniform(0, 0.12 if pace == "flood" else 0.25))
        before = progress.turns()
        kill(child, way)
        turns = progress.turns()
    finally:
        kill_group(child)
    require(turns >= before > 0, "nothing was counted")
    check(bench, folder, way, policy, pace, turns, threads)


def check(bench, folder, way, policy, pace, turns, threads):
    facts = info(bench, Path(folder) / "run.sonde")
    moved = CHUNKS_MOVED_AT_ONCE * EVENTS_OF_A_CHUNK if pace == "flood" else 0
    # Each thread may be in a turn that it has not reported yet.
    check_sums(facts, 4 * turns, 4 * (turns + threads), pace == "flood", moved)
    if pace != "flood":
        spans = facts["spans_by_kind"].get("scope", 0)
        require(2 * turns <= spans <= 2 * (turns + threads), f"{spans} spans of {turns} turns by {threads} threads")
    if policy == "spill" or way == "profiler":
        return
    require(ledger(facts, "damaged_bytes") == 0, "damaged")


def run(bench):
    count = bench.options.count or (12 if bench.options.quick else 1000)
    ways = ("profiler",) * 4 if bench.options.inside else WAYS
    for i in range(count):
        way, policy, pace = ways[i % 4], POLICIES[i // 4 % 3], PACES[i // 12 % 3]
        bench.case("kills", f"{i}.{way}.{policy}.{pace}", lambda folder, w=way, p=policy, s=pace: kill_one(bench, folder, w, p, s))
