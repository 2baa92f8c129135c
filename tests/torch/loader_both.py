#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training with two worker processes that load data, under torch.profiler while Sonde records it from outside.

    sonde run -o '{pid}.sonde' -- python3 tests/torch/loader_both.py COUNTS.json

Writes how often torch saw each name within the annotation "both see this", and the ids of the processes.
"""

import collections
import json
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset

ITEMS, WORKERS = 32, 2


class Squares(Dataset):
    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        return torch.full((4,), float(index)).square(), os.getpid()


def names_below(node):
    yield node.name() if callable(node.name) else node.name  # it became a property
    for child in node.children:
        yield from names_below(child)


def main() -> int:
    net = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    workers = set()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        with torch.profiler.record_function("both see this"):
            for batch, pids in DataLoader(Squares(), batch_size=4, num_workers=WORKERS):
                workers.update(pids.tolist())
                optimizer.zero_grad()
                net(batch).sum().backward()
                optimizer.step()
    roots = [list(names_below(root)) for root in prof.profiler.kineto_results.experimental_event_tree()]
    counts = collections.Counter(next(names for names in roots if names[0] == "both see this"))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"counts": counts, "process": os.getpid(), "workers": sorted(workers), "items": ITEMS}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
