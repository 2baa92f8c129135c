# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles some steps of a training loop and says what could be faster.

    PYTHONPATH=build/release/python python3 examples/04_python/train.py
"""

import torch

import sonde
from sonde.profiler import profile, record_function, schedule

model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def load_batch():
    with record_function("load"):
        return torch.randn(64, 256), torch.randint(10, (64,))


def train_step():
    inputs, targets = load_batch()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def show(prof):
    print(prof.key_averages(group_by_stack_n=1).table(sort_by="self_cpu_time_total", row_limit=8))


plan = schedule(wait=1, warmup=1, active=3, repeat=1)
with profile(schedule=plan, on_trace_ready=show, record_shapes=True, with_stack=True, profile_memory=True, output="train.sonde") as prof:
    for _ in range(6):
        train_step()
        prof.step()

print(prof.trace().report())
prof.export_chrome_trace("train.json.gz")
slowest = max(prof.events(), key=lambda event: event.self_cpu_time_total)
print(f"slowest: {slowest.name}, {slowest.self_cpu_time_total:.0f} us, called from {slowest.stack[0] if slowest.stack else 'nowhere'}")
