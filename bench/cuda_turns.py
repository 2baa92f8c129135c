#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what tracing costs a kernel launch, by asking processes in turn: bench/cuda_launches.cu in C++, and, where
there is a torch for the GPU, bench/cuda_operators.py.

The speed of a shared host changes by a third from core to core and from minute to minute, more than what is measured.
So one process of each mode is alive at once; on each core all of them are asked within some 50 ms, in an order drawn by
lot. What a mode adds is the difference there: its nanoseconds minus those of the untraced process. A set of processes
counts with the median of these differences, or with their mean, which includes the rare expensive launches.

Without turns, each mode has the machine to itself: a set is then one process after the other, each asked once on
every core. That is how a program is traced in practice, but five times as noisy.

Long rounds, such as 100,000 launches, run on one core per set, the next core for the next set; launches only.

usage: cuda_turns.py PROGRAM SONDE FOLDER SETS TURNS LAUNCHES
"""

import os
import random
import statistics
import subprocess
import sys
import time

program, sonde, folder = sys.argv[1:4]
sets, turns, round_launches = (int(number) for number in sys.argv[4:7])
is_long = round_launches > 1000
STOPPED_AFTER = "4s"  # long enough to begin CUDA and launch for a while
STOPPED_SECONDS = 6
operators = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_operators.py")]


def recorded(name, command, *options):
    return [sonde, "run", "-q", *options, "-o", f"{folder}/{name}.sonde", "--", *command]


def launches(*how):
    """Modes by name: the command of each. The others are compared with the first."""
    return {
        **{mode: [program, mode, str(round_launches), *how]
           for mode in ("kineto", "none", "kernel", "callback", "noted", "residue")},
        **{level: recorded(level, [program, "none", str(round_launches), *how], f"--gpu={level}")
           for level in ("lean", "linked", "full")},
        "stopped": recorded("stopped", [program, "none", str(round_launches), *how], "--gpu", "--for", STOPPED_AFTER),
    }


OPERATORS = {
    "torch, cuda": [*operators, "cuda"],
    "none": [*operators, "none"],
    "torch, cpu": [*operators, "cpu"],
    "torch, cpu+cuda": [*operators, "cpu+cuda"],
    "sonde": recorded("operators", [*operators, "none"]),
    **{f"sonde, {level}": recorded(f"operators-{level}", [*operators, "none"], f"--gpu={level}")
       for level in ("linked", "full")},
}
WAYS = {
    "the quickest round of each visit": (min, statistics.median),
    "the middle round of each visit": (statistics.median, statistics.median),
    "all rounds": (statistics.fmean, statistics.fmean),
}


def ask(process, core):
    process.stdin.write(f"{core}\n")
    process.stdin.flush()
    answer = process.stdout.readline().split()
    if not answer:
        sys.exit(f"cuda_turns.py: {' '.join(process.args)}: ended without an answer")
    return [float(ns) for ns in answer]


def start(command):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ended(process):
    process.stdin.close()
    if process.wait() != 0:
        sys.exit(f"cuda_turns.py: {' '.join(process.args)}: exit status {process.returncode}")


def measure_set(modes, number):
    """The rounds of each mode: {mode: [rounds, a list for each core and turn]}."""
    cores = sorted(os.sched_getaffinity(0))
    if is_long:
        cores = [cores[number % len(cores)]]
    rounds = {mode: [] for mode in modes}
    if turns == 0:
        for mode in random.sample(list(modes), len(modes)):
            process = start(modes[mode])
            if mode == "stopped":
                time.sleep(STOPPED_SECONDS)
            rounds[mode] = [ask(process, core) for core in cores]
            ended(process)
        return rounds
    processes = {mode: start(modes[mode]) for mode in modes}
    if "stopped" in modes:
        time.sleep(STOPPED_SECONDS)
    for _ in range(turns):
        for core in cores:
            for mode in random.sample(list(modes), len(modes)):
                rounds[mode].append(ask(processes[mode], core))
    for process in processes.values():
        ended(process)
    return rounds


def added(rounds, of_rounds, of_visits):
    """What each mode adds, in ns."""
    alone = [of_rounds(one) for one in rounds["none"]]
    return {mode: of_visits([of_rounds(one) - none for one, none in zip(visits, alone)])
            for mode, visits in rounds.items() if mode != "none"}


def report(title, modes):
    measured = [measure_set(modes, number) for number in range(sets)]
    for way, (of_rounds, of_visits) in WAYS.items():
        alone = statistics.median(of_visits([of_rounds(one) for one in rounds["none"]]) for rounds in measured)
        print(f"{title}, by {way}: {alone:.0f} ns alone")
        each = [added(rounds, of_rounds, of_visits) for rounds in measured]
        whole = next(iter(modes))
        for mode in each[0]:
            parts = [100 * one[mode] / one[whole] for one in each]
            print(f"  {mode:<16} {statistics.median(one[mode] for one in each):+6.0f} ns {statistics.median(parts):4.0f} %"
                  "   each set: " + " ".join(f"{part:.0f}" for part in parts))
    sys.stdout.flush()


report("a launch", launches())
if is_long:
    sys.exit()
report("a launch that is checked", launches("checked"))
if subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')"], stderr=subprocess.DEVNULL,
                  check=False).returncode == 0:
    report("an operator", OPERATORS)
