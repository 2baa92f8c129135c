#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps under torch's profiler and then under Sonde's, with stacks, modules and memory, compared.

    python3 tests/python/compare_training.py [cpu|cuda] [FOLDER]

Within the annotation "measured": the same operators with the same sizes as often, the same work of the device, the same modules, the
same Python functions as often. Then who held the memory at its peak, by category. Traces are left in FOLDER. The exit status says how
many comparisons differ.
"""

import collections
import gzip
import json
import os
import re
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


def record(package, job, steps, prepare=lambda: None, **options):
    # Both start with the same allocator: no leftovers of the run before.
    prepare()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    with package.profile(activities=activities(package), record_shapes=True, profile_memory=True, with_stack=True, **options) as prof:
        with torch.autograd.profiler.record_function("measured"):
            for _ in range(steps):
                job.step()
            if DEVICE == "cuda":
                torch.cuda.synchronize()
    return prof


def spans(prof, name):
    path = os.path.join(FOLDER, name + ".json.gz")
    prof.export_chrome_trace(path)
    with gzip.open(path, "rt") as file:
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
    return re.sub(r"0x[0-9a-f]+", "0x…", name)


def counts(events, categories, key=lambda event: plain(event["name"])):
    return collections.Counter(key(event) for event in events if event.get("cat") in categories)


def compare_spans():
    job = Job(torch.optim.AdamW)
    for _ in range(3):
        job.step()
    expected = spans(record(theirs, job, 3), "torch")
    prof = record(ours, job, 3, with_modules=True, with_calls=True)
    found = spans(prof, "sonde")
    compare("operators and their sizes", *(counts(events, ["cpu_op"], lambda event: (event["name"], str(event.get("args", {}).get("Input Dims"))))
                                           for events in (expected, found)))
    if DEVICE == "cuda":
        compare("work of the device", *(counts(events, ["kernel", "gpu_memcpy", "gpu_memset"]) for events in (expected, found)))
        compare("calls of CUDA", *(counts(events, ["cuda_runtime", "cuda_driver"]) for events in (expected, found)))
    modules = [collections.Counter({name: count for name, count in counts(events, ["python_function"]).items()
                                    if name.startswith("nn.Module")}) for events in (expected, found)]
    compare("modules", *modules)
    functions = [counts(events, ["python_function"]) - only for events, only in zip((expected, found), modules)]
    compare("Python functions", *functions)
    paths = {event.name for event in prof.events() if event.name.startswith("nn.Module: Net")}
    print("     paths of modules by with_modules:", len(paths), sorted(paths)[:4])


def peak_of_torch(path):
    from torch.profiler._memory_profiler import _CATEGORY_TO_INDEX
    with open(path, encoding="utf-8") as file:
        _, sizes = json.load(file)
    names = ["unknown" if category is None else category.name.lower() for category in _CATEGORY_TO_INDEX]
    return dict(zip(names, max(sizes, key=sum)[1:]))


def compare_memory(what, job, steps):
    global failed
    where = DEVICE + ":0" if DEVICE == "cuda" else DEVICE
    found = {}
    for name, package in (("torch", theirs), ("sonde", ours)):
        path = os.path.join(FOLDER, f"{name}_{what.replace(' ', '_')}.json")
        record(package, job(), steps).export_memory_timeline(path, where)
        found[name] = peak_of_torch(path)
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


def warm(optimizer):
    def made():
        job = Job(optimizer)
        job.step()
        return job

    return made


def main():
    warnings.simplefilter("ignore")
    print(f"torch {torch.__version__}, {DEVICE}, sonde {sonde.__version__}")
    compare_spans()
    sgd = lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)  # noqa: E731
    Job(sgd).step()
    compare_memory("the first step", lambda: Job(sgd), 1)
    compare_memory("one step with momentum", warm(sgd), 1)
    compare_memory("three steps of AdamW", warm(torch.optim.AdamW), 3)
    compare_memory("inference", warm(None), 1)
    os._exit(failed)


main()
