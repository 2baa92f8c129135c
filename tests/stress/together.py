# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings at the same time: of one name, in one folder, and names that are moved and taken again."""
import subprocess
from pathlib import Path

from kills import Progress
from trial import check_sums, info, ledger, live_files, require

TURNS = 5_000


def start(bench, folder, output, number, inside=False, turns=TURNS):
    progress = Path(folder) / f"progress-{number}"
    program = [bench.options.counted, str(progress), str(turns), "1"]
    command = [*program, output, "spill", str(64 << 20)] if inside else [bench.sonde, "run", "-q", "--force", "-o", output, "--", *program]
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one_name(bench, folder, inside):
    """Ten programs want the same name. All run; whoever has it in the end has a whole recording."""
    started = [start(bench, folder, "run.sonde", i, inside) for i in range(10)]
    statuses = [child.wait(60) for child in started]
    # A program that records itself reports that its recording failed.
    require(set(statuses) <= ({0, 4} if inside else {0}), f"statuses {statuses}")
    facts = info(bench, Path(folder) / "run.sonde")
    check_sums(facts, 4 * TURNS, 4 * TURNS, False)
    require(not live_files(folder), f"left {live_files(folder)}")


def many_names(bench, folder):
    started = [start(bench, folder, f"run.{i}.sonde", i) for i in range(16)]
    require(all(child.wait(60) == 0 for child in started), "a program failed")
    for i in range(16):
        check_sums(info(bench, Path(folder) / f"run.{i}.sonde"), 4 * TURNS, 4 * TURNS, False)
    require(not live_files(folder), f"left {live_files(folder)}")


def processes_of_one_run(bench, folder):
    """Eight children of a shell, recorded by one run under one name."""
    line = " & ".join(f"'{bench.options.counted}' progress-{i} {TURNS} 1" for i in range(8)) + " & wait"
    done = subprocess.run([bench.sonde, "run", "-q", "--force", "-o", "run.sonde", "--", "/bin/sh", "-c", line], cwd=folder, check=False, timeout=60)
    require(done.returncode == 0, f"status {done.returncode}")
    recordings = sorted(Path(folder).glob("run*.sonde"))
    require(len(recordings) == 8, f"{len(recordings)} recordings of 8 processes")
    for path in recordings:
        check_sums(info(bench, path), 4 * TURNS, 4 * TURNS, False)
    require(not live_files(folder), f"left {live_files(folder)}")


def name_taken_again(bench, folder, how, inside):
    """The first recording's file is moved or removed while it records; another takes its name. Both programs go on."""
    folder = Path(folder)
    progress = Progress(folder)
    program = [bench.options.counted, str(progress.path), "400000", "1"]
    command = [*program, "run.sonde", "spill", str(64 << 20)] if inside else [bench.sonde, "run", "-q", "--force", "-o", "run.sonde", "--", *program]
    first = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    while progress.threads_at_work() == 0 and first.poll() is None:
        pass
    if how == "moved":
        (folder / "run.sonde").rename(folder / "moved.sonde")
    else:
        (folder / "run.sonde").unlink()
    second = start(bench, folder, "run.sonde", 2, inside)
    require(second.wait(60) == 0 and first.wait(60) == 0, f"statuses {first.returncode}, {second.returncode}")
    check_sums(info(bench, folder / "run.sonde"), 4 * TURNS, 4 * TURNS, False)
    if how == "moved":
        facts = info(bench, folder / "moved.sonde")
        require(ledger(facts, "events_written") == 4 * 400_000, "the first recording is not whole")
    require(not live_files(folder), f"left {live_files(folder)}")


def run(bench):
    for i in range(1 if bench.options.quick else 10):
        bench.case("together", f"one_name_inside.{i}", lambda folder: one_name(bench, folder, True))
        if not bench.options.inside:
            bench.case("together", f"one_name.{i}", lambda folder: one_name(bench, folder, False))
            bench.case("together", f"many_names.{i}", lambda folder: many_names(bench, folder))
            bench.case("together", f"processes_of_one_run.{i}", lambda folder: processes_of_one_run(bench, folder))
        for how in ("moved", "removed"):
            for inside in (True,) if bench.options.inside else (False, True):
                bench.case("together", f"{how}.{inside}.{i}", lambda folder, h=how, n=inside: name_taken_again(bench, folder, h, n))
