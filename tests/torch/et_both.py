#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps for which torch's own observer and Sonde write an execution trace at once.

    sonde run --shapes --memory --et=ours.json -o run.sonde -- python3 tests/torch/et_both.py theirs.json [cpu|cuda]
    python3 tests/torch/compare_et.py theirs.json ours.json

Sonde sees the whole program; both see what runs inside the annotation "both see this".
"""

import sys

import torch
from train_both import Net

try:
    from torch.profiler import ExecutionTraceObserver as Observer
except ImportError:  # torch 1.13
    from torch.profiler import ExecutionGraphObserver as Observer


def main() -> int:
    path, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cpu"
    net = Net().to(device)
    optimizer = torch.optim.AdamW(net.parameters())

    def step():
        x = torch.randn(8, 3, 8, 8, device=device)
        y = torch.randint(0, 10, (8,), device=device)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    step()
    observer = Observer()
    observer.register_callback(path)
    observer.start()
    with torch.profiler.record_function("both see this"):
        for _ in range(3):
            step()
    observer.stop()
    observer.unregister_callback()
    return 0


if __name__ == "__main__":
    sys.exit(main())
