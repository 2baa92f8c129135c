#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs under torch's profiler and then under Sonde's, compared by the names, kinds and numbers of their events.

    python3 tests/python/compare_compiled.py [cpu|cuda]

Needs torch 2. The exit status says how many comparisons differ.
"""

import collections
import gzip
import json
import os
import sys
import tempfile
import warnings

import torch

from sonde import profiler as ours

theirs = torch.profiler
DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
KINDS = ("cpu_op", "user_annotation", "gpu_user_annotation", "kernel", "gpu_memcpy", "gpu_memset")
failed = 0


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


def events(prof, folder, name):
    path = os.path.join(folder, name + ".json.gz")
    prof.export_chrome_trace(path)
    with gzip.open(path, "rt") as file:
        found = json.load(file)["traceEvents"]
    return collections.Counter((event["cat"], event["name"]) for event in found if event.get("cat") in KINDS)


def compare(mode, shapes, compile_inside, folder):
    global failed
    found = []
    for name, package in (("torch", theirs), ("sonde", ours)):
        step = program(mode)
        for _ in range(0 if compile_inside else 4):
            step()
        activities = [package.ProfilerActivity.CPU] + ([package.ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
        with package.profile(activities=activities, record_shapes=shapes) as prof:
            for _ in range(2):
                step()
        found.append(events(prof, folder, name))
    same = found[0] == found[1]
    failed += not same
    how = mode + (", shapes" if shapes else "") + (", compiled while recording" if compile_inside else "")
    print(f"{'ok  ' if same else 'DIFF'} {how}: torch {sum(found[0].values())}, Sonde {sum(found[1].values())} events, "
          f"{len(found[1])} names", flush=True)
    for whose, rest in (("torch", found[0] - found[1]), ("Sonde", found[1] - found[0])):
        for (kind, event), count in rest.most_common(12):
            print(f"     only {whose}: {count} x {kind} {event[:140]}")


def main():
    warnings.simplefilter("ignore")
    if not hasattr(torch, "compile"):
        sys.exit("compare_compiled.py: needs torch 2")
    folder = tempfile.mkdtemp()
    modes = ["eager", "compile", "graph break", "script"] + (["CUDA graphs"] if DEVICE == "cuda" else [])
    for mode in modes:
        for shapes in (False, True):
            try:
                compare(mode, shapes, False, folder)
            except Exception as error:
                print(f"DIFF {mode}: {type(error).__name__}: {error}")
    try:
        compare("compile", False, True, folder)
    except Exception as error:
        print(f"DIFF compiled while recording: {type(error).__name__}: {error}")
    os._exit(failed)


main()
