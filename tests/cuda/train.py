#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some training steps on a GPU inside an annotation "measured", the same work each time.

usage: train.py [--torch TRACE.json | --nvtx] [--steps N] [--times FILE]
  --torch   records them with torch.profiler and writes its trace
  --nvtx    shows every operator to NVTX
  --times   writes seconds for a step and, with --torch, for stopping, as JSON
"""

import argparse
import contextlib
import json
import time

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(16)
        self.encoder = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.head = torch.nn.Linear(64, 10)

    def forward(self, images):
        features = torch.relu(self.norm(self.conv(images))).flatten(2)
        return self.head(self.encoder(features[:, :, :64]).mean(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch")
    parser.add_argument("--nvtx", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--times")
    args = parser.parse_args()
    torch.manual_seed(1)
    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters())
    host = torch.randn(8, 3, 16, 16)
    labels = torch.randint(0, 10, (8,)).cuda()
    side = torch.cuda.Stream()

    def step():
        images = host.pin_memory().cuda(non_blocking=True)
        optimizer.zero_grad()
        with torch.profiler.record_function("forward"):
            loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            images.mul_(2.0)
        torch.cuda.current_stream().wait_stream(side)
        return loss.item()

    for _ in range(3):
        step()
    buffer = torch.zeros(1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(5):
            buffer.add_(1.0)
    torch.cuda.synchronize()

    profiler = contextlib.nullcontext()
    if args.torch:
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        profiler = torch.profiler.profile(activities=activities)
    elif args.nvtx:
        profiler = torch.autograd.profiler.emit_nvtx()
    stopped = 0.0
    with profiler:
        with torch.profiler.record_function("measured"):
            took = []
            for _ in range(args.steps):
                began = time.perf_counter()
                step()
                took.append(time.perf_counter() - began)
            graph.replay()
            torch.cuda.synchronize()
        stopped = time.perf_counter()
    stopped = time.perf_counter() - stopped
    if args.torch:
        profiler.export_chrome_trace(args.torch)
    if args.times:
        with open(args.times, "w", encoding="utf-8") as file:
            took.sort()
            json.dump({"least_ms": round(took[0] * 1e3, 3), "median_ms": round(took[len(took) // 2] * 1e3, 3),
                       "stop_ms": round(stopped * 1e3, 3)}, file)


main()
