#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small training loop in Python with known changes, for bench/diff_runs.py: the same as diff_training.cpp.

    sonde run --shapes --memory -o OUTPUT.sonde -- python3 diff_training.py [WIDTH [EXTRA [MEMORY]]]
"""

import sys

import torch

STEPS = 14
PRODUCTS = 12


def main():
    width, extra, memory = (int(word) for word in (sys.argv[1:] + ["256", "0", "0"][len(sys.argv) - 1:]))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    left, right = torch.randn(256, width), torch.randn(width, 256)
    held = torch.zeros((100 + memory) * 16384)
    weights = torch.randn(256, 64, requires_grad=True)
    optimizer = torch.optim.SGD([weights], 0.001)
    for step in range(STEPS):
        with torch.autograd.profiler.record_function(f"ProfilerStep#{step}"):
            copy = held.clone()
            value = torch.zeros(256, 256)
            for _ in range(PRODUCTS + extra):
                value = torch.mm(left, right) + value * 0.5
            loss = torch.tanh(torch.nn.functional.linear(value, weights.t())).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            del copy


if __name__ == "__main__":
    main()
