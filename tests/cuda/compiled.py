#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tests/cuda/compiled.py MODE [--torch FILE]: three steps of a program that torch captured as graphs, in an
annotation "measured".

MODE is `compile` (Inductor, one graph break), `graphs` (the same with CUDA graphs) or `script` (TorchScript). With
--torch the steps are recorded by torch.profiler; without, for `sonde run --signal-start USR1 --signal-stop USR2`, the
program asks for the recording itself.
"""
import argparse
import os
import signal
import time

import torch

STEPS = 3


class Net(torch.nn.Module):
    def __init__(self, breaks: bool):
        super().__init__()
        self.first = torch.nn.Linear(256, 512)
        self.second = torch.nn.Linear(512, 256)
        self.breaks = breaks
        self.seen = 0.0

    def forward(self, x):
        y = self.second(torch.nn.functional.gelu(self.first(x)))
        if not torch.jit.is_scripting():
            if self.breaks:
                self.seen = y.sum().item()
        return torch.softmax(y, -1).amax(-1).sum()


def captured(mode: str) -> torch.nn.Module:
    net = Net(breaks=mode == "compile").cuda()
    if mode == "script":
        return torch.jit.script(net)
    return torch.compile(net, mode="reduce-overhead" if mode == "graphs" else "default")


def step(net: torch.nn.Module, x: torch.Tensor) -> None:
    torch.compiler.cudagraph_mark_step_begin()
    net.zero_grad(set_to_none=True)  # gradients are in a CUDA graph's memory, which the next step reuses
    net(x).backward()
    x.mul(2).add(1)


def measured(net: torch.nn.Module, x: torch.Tensor) -> None:
    with torch.profiler.record_function("measured"):
        for _ in range(STEPS):
            step(net, x)
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["compile", "graphs", "script"])
    parser.add_argument("--torch")
    options = parser.parse_args()
    torch.manual_seed(0)
    net = captured(options.mode)
    x = torch.randn(64, 256, device="cuda")
    for _ in range(4):
        step(net, x)
    torch.cuda.synchronize()
    if options.torch:
        with torch.profiler.profile(record_shapes=True) as profiler:
            measured(net, x)
        profiler.export_chrome_trace(options.torch)
        return
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.5)  # until recording is on
    measured(net, x)
    os.kill(os.getpid(), signal.SIGUSR2)
    time.sleep(0.5)


if __name__ == "__main__":
    main()
