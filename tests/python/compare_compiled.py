#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs under torch's profiler and then under Sonde's, compared by the names, kinds and numbers of their events.

    python3 tests/python/compare_compiled.py [cpu|cuda]

Needs torch 2. torch's profiler and Sonde's each have a process, because CUPTI serves one of them. The exit status says how many
comparisons differ.
"""

import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile
import warnings

import torch

from sonde import profiler as ours

theirs = torch.profiler
DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
KINDS = ("cpu_op", "user_annotation", "kernel", "gpu_memcpy", "gpu_memset")


class Net(torch.nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.first, self.second, self.breaks = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64), breaks

    def forward(self, x):
        y = self.second(torch.nn.functional.gelu(self.first(x)))
        if self.breaks:
            y = y * (1.0 if float(y.sum()) > 0 else 2.0)
        return torch.softmax(y, -1).amax(-1).sum()


def program(mode):
    torch._dynamo.reset()
    torch.manual_seed(0)
    net = Net(breaks=mode == "graph break").to(DEVICE)
    if mode == "script":
        net = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64)).to(DEVICE))
    elif mode != "eager":
        net = torch.compile(net, mode="reduce-overhead" if mode == "CUDA graphs" else "default")
    x = torch.randn(32, 64, device=DEVICE)

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        net.zero_grad(set_to_none=True)
        net(x).sum().backward()
        if DEVICE == "cuda":
            torch.cuda.synchronize()

    return step


def events(prof, folder):
    path = os.path.join(folder, "trace.json.gz")
    prof.export_chrome_trace(path)
    with gzip.open(path, "rt") as file:
        found = json.load(file)["traceEvents"]
    return collections.Counter(event["cat"] + " " + event["name"] for event in found if event.get("cat") in KINDS)


CASES = {(mode + (", shapes" if shapes else "") + (", compiled while recording" if inside else "")): (mode, shapes, inside)
         for mode in (["eager", "compile", "graph break", "script", "CUDA graphs"] if DEVICE == "cuda" else ["eager", "compile", "script"])
         for shapes, inside in [(False, False), (True, False)] + ([(False, True)] if mode == "compile" else [])}


def record_all(whose, folder):
    warnings.simplefilter("ignore")
    package = {"torch": theirs, "sonde": ours}[whose]
    found = {}
    for name, (mode, shapes, inside) in CASES.items():
        try:
            step = program(mode)
            for _ in range(4):
                step()
            if inside:  # once more, with what is in the caches
                step = program(mode)
            activities = [package.ProfilerActivity.CPU] + ([package.ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
            with package.profile(activities=activities, record_shapes=shapes) as prof:
                for _ in range(2):
                    step()
            found[name] = events(prof, folder)
        except Exception as error:
            found[name] = {f"{type(error).__name__}: {error}": 1}
    with open(os.path.join(folder, "found.json"), "w", encoding="utf-8") as file:
        json.dump(found, file)
    os._exit(0)


def main():
    if not hasattr(torch, "compile"):
        sys.exit("compare_compiled.py: needs torch 2")
    if len(sys.argv) > 2:
        record_all(*sys.argv[2:])
    failed, folders = 0, {whose: tempfile.mkdtemp() for whose in ("torch", "sonde")}
    # One after the other: the second finds what the first compiled.
    for whose, folder in folders.items():
        subprocess.run([sys.executable, os.path.abspath(__file__), DEVICE, whose, folder], check=True, stderr=subprocess.DEVNULL)
    both = []
    for folder in folders.values():
        with open(os.path.join(folder, "found.json"), encoding="utf-8") as file:
            both.append(json.load(file))
    for name in CASES:
        expected, found = (collections.Counter(one[name]) for one in both)
        failed += expected != found
        print(f"{'ok  ' if expected == found else 'DIFF'} {name}: torch {sum(expected.values())}, Sonde {sum(found.values())} events, "
              f"{len(found)} names")
        for whose, rest in (("torch", expected - found), ("Sonde", found - expected)):
            for event, count in rest.most_common(12):
                print(f"     only {whose}: {count} x {event[:150]}")
    return failed


sys.exit(main())
