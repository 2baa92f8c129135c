#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of several ranks that share one GPU and talk through gloo, in an annotation "measured".

usage: python3 -m torch.distributed.run --nproc-per-node N ranks.py [--torch FOLDER]
  --torch   records each rank with torch.profiler and writes FOLDER/torchRANK.json
"""

import argparse
import contextlib
import time

import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch")
    args = parser.parse_args()
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
    net = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    images, labels = torch.randn(32, 64, device="cuda"), torch.randint(0, 10, (32,), device="cuda")

    def step():
        if rank == 2:
            time.sleep(0.02)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    profiler = torch.profiler.profile() if args.torch else contextlib.nullcontext()
    with profiler:
        torch.distributed.barrier()
        with torch.profiler.record_function("measured"):
            for _ in range(3):
                step()
            torch.cuda.synchronize()
    if args.torch:
        profiler.export_chrome_trace(f"{args.torch}/torch{rank}.json")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


main()
