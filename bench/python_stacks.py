#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Sonde and torch's own profiler cost a Python program, in one run: per operator, and for the answers.

    PYTHONPATH=build/release/python python3 bench/python_stacks.py [OPERATORS]

Each figure is CPU time of the process, the median of several turns in which all kinds take their turn, less what the loop takes by
itself. Look at the ratios: the machine is noisy.
"""

import contextlib
import statistics
import sys
import time

import torch

from sonde import profiler as ours

theirs = torch.profiler
CPU = [theirs.ProfilerActivity.CPU]
TURNS = 7


class Net(torch.nn.Module):
    """Some depth for the stacks: ten functions around each operator."""

    def __init__(self, depth):
        super().__init__()
        self.inner = Net(depth - 1) if depth else None

    def forward(self, x, n):
        if self.inner is not None:
            return self.inner(x, n)
        for _ in range(n):
            x.add(1)


def with_calls_of_python(x, n):
    def small(value):
        return value + 1

    for _ in range(n // 10):
        x.add(1)
        for i in range(20):
            small(i)


def time_of(kind, work):
    with kind() as prof:
        begin = time.process_time()
        work()
        took = time.process_time() - begin
    return took, prof


def compare(title, kinds, work, count):
    took = {name: [] for name in kinds}
    for _ in range(TURNS):
        for name, kind in kinds.items():
            took[name].append(time_of(kind, work)[0])
    plain = statistics.median(took["nothing"])
    print(f"{title}: {1e9 * plain / count:.0f} ns each by itself")
    for name in kinds:
        if name != "nothing":
            print(f"  {name:<28} + {1e9 * (statistics.median(took[name]) - plain) / count:6.0f} ns")


def answers(count):
    net, x = Net(5), torch.ones(2)
    print(f"answers about {count} operators")
    for name, kind in {"torch": lambda: theirs.profile(activities=CPU), "sonde": lambda: ours.profile(activities=CPU)}.items():
        prof = kind()
        prof.start()
        net(x, count)
        times = []
        for ask in (prof.stop, prof.events, prof.key_averages, lambda: prof.key_averages().table()):
            begin = time.process_time()
            ask()
            times.append(1e3 * (time.process_time() - begin))
        print(f"  {name}: stop {times[0]:.1f} ms, events {times[1]:.1f} ms, key_averages {times[2]:.1f} ms, table {times[3]:.1f} ms")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    net, x = Net(5), torch.ones(2)
    kinds = {
        "nothing": contextlib.nullcontext,
        "torch": lambda: theirs.profile(activities=CPU),
        "torch, with_stack": lambda: theirs.profile(activities=CPU, with_stack=True),
        "sonde": lambda: ours.profile(activities=CPU),
        "sonde, with_stack": lambda: ours.profile(activities=CPU, with_stack=True),
        "sonde, with_calls": lambda: ours.profile(activities=CPU, with_calls=True),
    }
    compare("operators", kinds, lambda: net(x, count), count)
    compare("calls of Python functions", kinds, lambda: with_calls_of_python(x, count), 2 * count)
    answers(count)


main()
