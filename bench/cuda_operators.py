#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of torch that launch one small kernel each, as bench/cuda_launches.cu launches them without torch: it reads
core numbers, one per line, moves to that core and answers with nanoseconds per operator, one figure for each round.

usage: cuda_operators.py none | cpu | cuda | cpu+cuda: with no profiler, or with torch.profiler and these activities
"""

import os
import sys
import time

import torch

LAUNCHES, ROUNDS = 400, 5
values = torch.zeros(16, device="cuda")


def operator_ns(count):
    begin = time.perf_counter_ns()
    for _ in range(count):
        values.add_(1.0)
    took = time.perf_counter_ns() - begin
    torch.cuda.synchronize()
    return took / count


if sys.argv[1] != "none":
    activities = [getattr(torch.profiler.ProfilerActivity, name.upper()) for name in sys.argv[1].split("+")]
    profiler = torch.profiler.profile(activities=activities)
    profiler.start()
for _ in range(25):
    operator_ns(LAUNCHES)
for line in sys.stdin:
    os.sched_setaffinity(0, {int(line)})
    operator_ns(LAUNCHES // 2)
    print(*(f"{operator_ns(LAUNCHES):.1f}" for _ in range(ROUNDS)), flush=True)
if sys.argv[1] != "none":
    os._exit(0)  # torch.profiler takes minutes for a million events, which is not what is measured
