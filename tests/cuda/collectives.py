#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of NCCL in a group of one rank.

usage: collectives.py [--torch FILE]
  --torch   records them with torch.profiler and writes FILE
"""

import argparse
import contextlib
import os

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch")
    args = parser.parse_args()
    for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29511"), ("RANK", "0"), ("WORLD_SIZE", "1")):
        os.environ.setdefault(name, value)
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    pair = dist.new_group([0], group_desc="alone")
    values = torch.ones(1024, device="cuda")
    parts = torch.zeros(1024, device="cuda")

    def step():
        dist.all_reduce(values)
        dist.all_reduce(values, group=pair)
        dist.broadcast(values, 0)
        dist.all_gather_into_tensor(parts, values, group=pair)
        dist.reduce_scatter_tensor(parts, values)
        dist.barrier()

    step()
    torch.cuda.synchronize()
    profiler = torch.profiler.profile() if args.torch else contextlib.nullcontext()
    with profiler:
        with torch.profiler.record_function("measured"):
            step()
            torch.cuda.synchronize()
    if args.torch:
        profiler.export_chrome_trace(args.torch)
    dist.destroy_process_group()


main()
