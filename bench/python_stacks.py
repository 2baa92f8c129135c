#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Sonde and torch's own profiler cost a Python program, in one run: per operator, and for the answers.

    PYTHONPATH=build/release/python python3 bench/python_stacks.py [OPERATORS]

Each figure is the least of several rounds, less what the loop takes by itself: CPU time of the thread that runs the program, and CPU time
of the whole process until the recording has ended, which is when torch makes its events. Rounds have the kinds in different orders, each
after a run without any, because what torch leaves behind makes the next one slower. A profile hook of Python's that does nothing is the
floor of what recording calls costs before Python 3.12, and two readings of the clock for each call come on top. Look at the ratios: the
machine is noisy. Then what answers take, in CPU time of the whole process.
"""

import contextlib
import ctypes
import random
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


def training():
    """A step of a small transformer, as such programs are: some twenty calls of Python functions for each operator that they call."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
    net = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 4), torch.nn.Linear(32, 8))
    optimizer, x = torch.optim.Adam(net.parameters()), torch.randn(2, 8, 32)

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad()
            net(x).sum().backward()
            optimizer.step()

    return steps


@contextlib.contextmanager
def empty_hook():
    """The profile hook is given a function that only answers 0."""
    python = ctypes.pythonapi
    python.PyEval_SetProfile.argtypes = [ctypes.c_void_p, ctypes.py_object]
    python.PyEval_SetProfile(ctypes.cast(python._Py_IsFinalizing, ctypes.c_void_p), None)
    yield
    python.PyEval_SetProfile(None, None)


def time_of(kind, work):
    """CPU time of the thread for the work, and of the whole process until the recording has ended."""
    begin_all = time.process_time()
    with kind():
        begin = time.thread_time()
        work()
        took = time.thread_time() - begin
    return took, time.process_time() - begin_all


def compare(title, kinds, work, count):
    took = {name: [] for name in kinds}
    shuffled = random.Random(1)
    for _ in range(TURNS):
        for name in shuffled.sample(list(kinds), len(kinds)):
            work()
            took[name].append(time_of(kinds[name], work))
    added = {}
    for at, until in enumerate(("while it runs", "until it has ended")):
        least = {name: min(times[at] for times in of) for name, of in took.items()}
        added[until] = {name: 1e9 * (time - least["nothing"]) / count for name, time in least.items()}
        if at == 0:
            print(f"{title}: {1e9 * least['nothing'] / count:.0f} ns each by itself")
    for name in kinds:
        if name != "nothing":
            print(f"  {name:<28}" + ", ".join(f" + {of[name]:6.0f} ns {until}" for until, of in added.items()))
    for until, of in added.items():
        theirs_adds = of["torch, with_stack"] - of["torch"]
        shares = {name.rpartition(" ")[2]: (of[name] - of["sonde"]) / theirs_adds for name in ("sonde, with_stack", "sonde, with_calls")}
        if "an empty hook" in of:
            shares["an empty hook"] = of["an empty hook"] / theirs_adds
        print(f"  of what torch's with_stack adds {until}: " + ", ".join(f"{name} {share:.2f}" for name, share in shares.items()))


def answers(count, packages):
    net, x = Net(5), torch.ones(2)
    print(f"answers about {count} operators")
    for name, package in packages.items():
        prof = package.profile(activities=CPU)
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
        "sonde, with_native_stack": lambda: ours.profile(activities=CPU, with_native_stack=True),
    }
    if sys.version_info < (3, 12):
        kinds["an empty hook"] = empty_hook
    compare("operators", kinds, lambda: net(x, count), count)
    steps, train = max(count // 500, 3), training()
    train(3)
    compare("training steps", kinds, lambda: train(steps), steps)
    compare("calls of Python functions", kinds, lambda: with_calls_of_python(x, count), 2 * count)
    answers(count, {"torch": theirs, "sonde": ours})
    answers(1_000_000, {"sonde": ours})


main()
