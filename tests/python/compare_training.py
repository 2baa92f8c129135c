#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps under torch's profiler and then under Sonde's, with stacks, modules and memory, compared.

    python3 tests/python/compare_training.py [cpu|cuda] [FOLDER]

Within the annotation "measured": the same operators with the same sizes as often, the same work of the device, the same modules, the
same Python functions as often. Then who held the memory at its peak, by category. torch's profiler and Sonde's each have a process,
because CUPTI serves one of them. Traces are left in FOLDER. The exit status says how many comparisons differ.
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import torch

import sonde
from sonde import profiler as ours

theirs = torch.profiler
DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
FOLDER = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
failed = 0


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.layers = torch.nn.Sequential(torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.layers(self.norm(x))


class Net(torch.nn.Module):
    def __init__(self, width=64, depth=3):
        super().__init__()
        self.embed = torch.nn.Embedding(100, width)
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(depth))
        self.head = torch.nn.Linear(width, 100)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Job:
    def __init__(self, optimizer=None):
        torch.manual_seed(0)
        self.net = Net().to(DEVICE)
        self.optimizer = optimizer(self.net.parameters()) if optimizer else None
        self.tokens = torch.randint(0, 100, (16, 32)).to(DEVICE)

    def step(self):
        logits = self.net(self.tokens)
        if self.optimizer is None:
            return
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), self.tokens.flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def activities(package):
    return [package.ProfilerActivity.CPU] + ([package.ProfilerActivity.CUDA] if DEVICE == "cuda" else [])


def record(package, job, steps, **options):
    with package.profile(activities=activities(package), record_shapes=True, with_stack=True, **options) as prof:
        with torch.autograd.profiler.record_function("measured"):
            for _ in range(steps):
                job.step()
            if DEVICE == "cuda":
                torch.cuda.synchronize()
    return prof


def path_of(name):
    return os.path.join(FOLDER, name)


def spans(name):
    with gzip.open(path_of(name), "rt") as file:
        written = json.load(file)
    # torch 1 writes a list, if Kineto is not in it.
    events = [event for event in (written if isinstance(written, list) else written["traceEvents"]) if event.get("ph") == "X"]
    measured = next(event for event in events if event["name"] == "measured" and event.get("cat", "user_annotation") == "user_annotation")
    begin, end = measured["ts"], measured["ts"] + measured["dur"]
    return [event for event in events if begin <= event["ts"] <= end and event["ts"] + event["dur"] <= end + 0.01 or
            event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]


def compare(what, expected, found):
    global failed
    same = expected == found
    failed += not same
    print(f"{'ok  ' if same else 'DIFF'} {what}: torch {sum(expected.values())}, Sonde {sum(found.values())}, {len(found)} names")
    for whose, rest in (("torch", expected - found), ("Sonde", found - expected)):
        for name, count in rest.most_common(10):
            print(f"     only {whose}: {count} x {str(name)[:160]}")


def plain(name):
    # Sonde leaves addresses out, so that a function has one name.
    return re.sub(r" at 0x[0-9a-f]+", "", name)


def counts(events, categories, key=lambda event: plain(event["name"])):
    return collections.Counter(key(event) for event in events if event.get("cat") in categories)


def compare_spans():
    expected, found = spans("torch.json.gz"), spans("sonde.json.gz")
    compare("operators and their sizes",
            *(counts(events, ["cpu_op"], lambda event: (event["name"], str(event.get("args", {}).get("Input Dims")))) for events in (expected, found)))
    if DEVICE == "cuda":
        compare("work of the device", *(counts(events, ["kernel", "gpu_memcpy", "gpu_memset"]) for events in (expected, found)))
    modules = [collections.Counter({name: count for name, count in counts(events, ["python_function"]).items()
                                    if name.startswith("nn.Module")}) for events in (expected, found)]
    compare("modules", *modules)
    compare("Python functions", *(counts(events, ["python_function"]) - only for events, only in zip((expected, found), modules)))
    with_hooks = [event for event in spans("sonde_modules.json.gz") if event["name"].startswith("nn.Module: Net")]
    print(f"     paths of modules by with_modules: {len(with_hooks)} calls, {sorted({event['name'] for event in with_hooks})[:4]}")


def peak_of_torch(path):
    from torch.profiler._memory_profiler import _CATEGORY_TO_INDEX
    with open(path, encoding="utf-8") as file:
        _, sizes = json.load(file)
    names = ["unknown" if category is None else category.name.lower() for category in _CATEGORY_TO_INDEX]
    return dict(zip(names, max(sizes, key=sum)[1:]))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def warm(optimizer):
    def made():
        job = Job(optimizer)
        job.step()
        return job

    return made


MEMORY = {
    "the first step": (lambda: Job(sgd), 1),
    "one step with momentum": (warm(sgd), 1),
    "three steps of AdamW": (warm(torch.optim.AdamW), 3),
    "inference": (warm(None), 1),
}


def timeline_of(whose, what):
    return path_of(f"{whose}_{what.replace(' ', '_')}.json")


def record_all(whose):
    package = {"torch": theirs, "sonde": ours}[whose]
    job = warm(torch.optim.AdamW)()
    for _ in range(2):
        job.step()
    record(package, job, 3, **({"with_calls": True} if whose == "sonde" else {})).export_chrome_trace(path_of(whose + ".json.gz"))
    if whose == "sonde":
        record(package, job, 3, with_modules=True).export_chrome_trace(path_of("sonde_modules.json.gz"))
    warm(sgd)()
    for what, (make, steps) in MEMORY.items():
        try:
            record(package, make(), steps, profile_memory=True).export_memory_timeline(
                timeline_of(whose, what), DEVICE + ":0" if DEVICE == "cuda" else DEVICE)
        except Exception as error:
            print(f"     {whose}, memory of {what}: {error}")
    os._exit(0)


def compare_memory(what):
    global failed
    if not os.path.exists(timeline_of("torch", what)):
        print(f"     {what}: torch says nothing of the memory")
        return
    found = {whose: peak_of_torch(timeline_of(whose, what)) for whose in ("torch", "sonde")}
    total = sum(found["torch"].values())
    worst = max(abs(found["torch"][one] - found["sonde"][one]) for one in found["torch"]) / max(total, 1)
    off = abs(total - sum(found["sonde"].values())) / max(total, 1)
    same = worst <= 0.02 and off <= 0.02
    failed += not same
    print(f"{'ok  ' if same else 'DIFF'} memory at its peak, {what}: {total} and {sum(found['sonde'].values())} bytes; the category that "
          f"differs most by {100 * worst:.1f} % of it")
    for category, size in found["torch"].items():
        if size or found["sonde"][category]:
            print(f"     {category:<16} torch {size:>10} Sonde {found['sonde'][category]:>10}")


def main():
    warnings.simplefilter("ignore")
    if len(sys.argv) > 3:
        record_all(sys.argv[3])
    print(f"torch {torch.__version__}, {DEVICE}, sonde {sonde.__version__}", flush=True)
    running = [subprocess.Popen([sys.executable, os.path.abspath(__file__), DEVICE, FOLDER, whose]) for whose in ("torch", "sonde")]
    if any([process.wait() for process in running]):
        sys.exit("a recording failed")
    compare_spans()
    for what in MEMORY:
        compare_memory(what)
    return failed


sys.exit(main())
