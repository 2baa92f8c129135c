#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training loop that profiles itself with torch.profiler while Sonde records it from outside.

    sonde run --shapes --memory -o run.sonde -- python3 tests/torch/train_both.py torch.json [cpu|cuda]
    sonde export run.sonde -o sonde.json
    python3 tests/torch/compare_both.py torch.json sonde.json
"""

import sys

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3)
        self.block = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.wide = torch.nn.Linear(16 * 6 * 6, 64)
        self.out = torch.nn.Linear(64, 10)

    def forward(self, x):
        features = self.wide(torch.relu(self.conv(x)).flatten(1))
        return self.out(self.block(features.unsqueeze(1)).squeeze(1))


def main() -> int:
    path, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cpu"
    net = Net().to(device)
    optimizer = torch.optim.AdamW(net.parameters())

    def step():
        x = torch.randn(8, 3, 8, 8, device=device)
        y = torch.randint(0, 10, (8,), device=device)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    for _ in range(3):
        step()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True, profile_memory=True) as prof:
        with torch.profiler.record_function("both see this"):
            for _ in range(3):
                step()
    prof.export_chrome_trace(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
