#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of a gloo job with two groups of two; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
first, second = dist.new_group([0, 1]), dist.new_group([2, 3])
mine = first if dist.get_rank() < 2 else second
values = torch.ones(8)
for _ in range(4):
    dist.all_reduce(values, group=mine)
    dist.all_reduce(values)
dist.destroy_process_group()
