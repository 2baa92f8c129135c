#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps whose memory torch.profiler and Sonde follow at once.

    sonde run --shapes --memory --signal-start USR1 --signal-stop USR2 -o run.sonde -- \
        python3 tests/torch/memory_both.py OUT [cpu|cuda] [transformer|cnn] [adamw|fused|sgd]

Writes OUT.raw.json.gz and OUT.json, which is PyTorch's memory timeline of the same steps, and on CUDA
OUT.pickle, a snapshot of its allocator.
"""

import os
import signal
import sys
import time
import warnings

import torch

warnings.filterwarnings("ignore")


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(1000, 128)
        layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.body = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = torch.nn.Linear(128, 1000)

    def forward(self, x):
        return self.out(self.body(self.embed(x))).flatten(0, 1)

    @staticmethod
    def batch(device):
        x = torch.randint(0, 1000, (8, 32), device=device)
        return x, x.flatten()


class Cnn(torch.nn.Sequential):
    def __init__(self):
        nn = torch.nn
        super().__init__(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2),
                         nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10))

    @staticmethod
    def batch(device):
        return torch.randn(16, 3, 32, 32, device=device), torch.randint(0, 10, (16,), device=device)


def tell_sonde(what):
    os.kill(os.getpid(), what)
    time.sleep(0.5)


def main() -> int:
    out = sys.argv[1]
    device, model, optimiser = (sys.argv[2:] + ["cpu", "transformer", "adamw"][len(sys.argv) - 2:])[:3]
    torch.manual_seed(0)
    net = (Transformer if model == "transformer" else Cnn)().to(device)
    if optimiser == "sgd":
        step_by = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    else:
        step_by = torch.optim.AdamW(net.parameters(), fused=optimiser == "fused")

    def step():
        x, y = net.batch(device)
        step_by.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        step_by.step()

    if device == "cuda":
        torch.cuda.memory._record_memory_history(max_entries=100_000)
    for _ in range(3):
        step()
    if device == "cuda":
        torch.cuda.memory._dump_snapshot(out + ".pickle")
        torch.cuda.memory._record_memory_history(enabled=None)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    tell_sonde(signal.SIGUSR1)
    with torch.profiler.profile(activities=activities, record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for _ in range(3):
            step()
    tell_sonde(signal.SIGUSR2)
    where = device + ":0" if device == "cuda" else device
    prof.export_memory_timeline(out + ".raw.json.gz", where)
    prof.export_memory_timeline(out + ".json", where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
