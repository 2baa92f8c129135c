#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch programs for a GPU with a switch: a fault that a report should find, and the same program without it.

    bench/gpu_switches.py                     lists them
    bench/gpu_switches.py pageable on         runs one; for sonde run
    bench/gpu_switches.py times [program...]  the mean steps with the fault and without it, in µs, one line each

bench/switches.py compares what reports promise with these times.
"""

import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = 1 if DEVICE == "cuda" else 8  # divides sizes where there is no GPU, to try the programs at all
STEPS = 60
WARM_UP = 10
ROUNDS = 5


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def mlp(layers, width):
    net = nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(width, width), nn.ReLU())])
    return net.to(DEVICE)


def trainer(net, make_optimizer=None, set_to_none=True):
    optimizer = make_optimizer(net.parameters()) if make_optimizer else torch.optim.SGD(net.parameters(), lr=1e-4)

    def train(x):
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = net(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return train


def pageable(fault):
    """Batches come from memory that is not pinned."""
    rows, width = 16384 // BIG, 2048 // BIG
    batches = [torch.rand(rows, width) for _ in range(4)]
    if not fault and DEVICE == "cuda":
        batches = [batch.pin_memory() for batch in batches]
    train = trainer(mlp(6, width))
    number = iter(range(1 << 30))
    return lambda: train(batches[next(number) % 4].to(DEVICE, non_blocking=not fault))


def optimizer(fault):
    """Adam updates many small parameters one by one."""
    train = trainer(mlp(40, 128), lambda p: torch.optim.Adam(p, lr=1e-4, foreach=not fault))
    x = torch.rand(256, 128, device=DEVICE)
    return lambda: train(x)


def bias(fault):
    """Convolutions have a bias that the batch norm after them removes."""
    net = nn.Sequential(*[m for _ in range(8) for m in
                          (nn.Conv2d(64, 64, 3, padding=1, bias=fault), nn.BatchNorm2d(64), nn.ReLU())]).to(DEVICE)
    train = trainer(net)
    x = torch.rand(128 // BIG, 64, 56, 56, device=DEVICE)
    return lambda: train(x)


def tiny(fault):
    """Hundreds of tiny kernels a step, launched one by one instead of as a CUDA graph."""
    net = mlp(100, 64)
    x = torch.rand(64, 64, device=DEVICE)
    if fault or DEVICE != "cuda":
        def step():
            with torch.no_grad():
                return net(x)
        return step
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        net(x)
    return graph.replay


def tf32(fault):
    """Products of 32-bit floats do not use tensor cores."""
    train = trainer(mlp(4, 2048 // BIG))
    x = torch.rand(4096 // BIG, 2048 // BIG, device=DEVICE)

    def step():
        torch.backends.cuda.matmul.allow_tf32 = not fault
        train(x)
        torch.backends.cuda.matmul.allow_tf32 = False

    return step


def channels_last(fault):
    """Half-precision convolutions on NCHW: cuDNN converts every image and back."""
    layout = torch.contiguous_format if fault else torch.channels_last
    net = nn.Sequential(*[m for _ in range(6) for m in (nn.Conv2d(128, 128, 3, padding=1), nn.ReLU())])
    dtype = torch.float16 if DEVICE == "cuda" else torch.float32
    net = net.to(DEVICE, dtype).to(memory_format=layout)
    train = trainer(net)
    x = torch.rand(64 // BIG, 128, 28, 28, device=DEVICE, dtype=dtype).to(memory_format=layout)
    return lambda: train(x)


def item(fault):
    """The loss is printed after each small step of a loop, and the host waits for it."""
    net = mlp(12, 1024 // BIG)
    x = torch.rand(512, 1024 // BIG, device=DEVICE)
    losses = []

    def step():
        with torch.no_grad():
            for _ in range(8):
                loss = net(x).sum()
                losses.append(loss.item() if fault else loss)
        losses.clear()

    return step


class Pictures(torch.utils.data.Dataset):
    """Decoding takes the host some time."""

    def __len__(self):
        return 1 << 16

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.rand(3, 64, 64, generator=generator).flip(2).mul(2).sub(1)


def loader(fault):
    """A DataLoader without workers."""
    workers = 0 if fault else 4
    loader = torch.utils.data.DataLoader(Pictures(), batch_size=32, num_workers=workers, pin_memory=DEVICE == "cuda")
    net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
                        nn.Conv2d(64, 64, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(DEVICE)
    train = trainer(net)
    batches = iter(loader)

    def step():
        # The host needs the loss, so that a step has all of its work.
        return train(next(batches).to(DEVICE, non_blocking=True)).item()

    return step


def python_work(fault):
    """The host computes statistics between steps."""
    train = trainer(mlp(8, 1024 // BIG))
    x = torch.rand(1024 // BIG, 1024 // BIG, device=DEVICE)

    def step():
        train(x)
        if fault:
            sorted(str(i * 7919 % 10007) for i in range(12000))

    return step


def empty_cache(fault):
    """The cache of device memory is emptied in each step."""
    train = trainer(mlp(8, 1024 // BIG))
    x = torch.rand(1024 // BIG, 1024 // BIG, device=DEVICE)

    def step():
        train(x)
        if fault and DEVICE == "cuda":
            torch.cuda.empty_cache()

    return step


def zero_grad(fault):
    """Gradients are filled with zeros."""
    train = trainer(mlp(60, 512 // BIG), lambda p: torch.optim.SGD(p, lr=1e-4, foreach=False), set_to_none=not fault)
    x = torch.rand(128, 512 // BIG, device=DEVICE)
    return lambda: train(x)


def padding(fault):
    """Sizes of half-precision products are no multiples of eight."""
    width = (4095 if fault else 4096) // BIG
    dtype = torch.float16 if DEVICE == "cuda" else torch.float32
    weights = [torch.rand(width, width, device=DEVICE, dtype=dtype) / width for _ in range(6)]
    x = torch.rand(width, width, device=DEVICE, dtype=dtype)

    def step():
        y = x
        for weight in weights:
            y = y @ weight

    return step


def clones(fault):
    """Big tensors are cloned although nothing changes them."""
    big = torch.rand(4096 // BIG, 4096, device=DEVICE)

    def step():
        for _ in range(8):
            y = big.clone() if fault else big
            (y * 2).sum()

    return step


def round_trip(fault):
    """A tensor goes to the host, is changed there and comes back."""
    net = mlp(6, 2048 // BIG)
    x = torch.rand(2048 // BIG, 2048 // BIG, device=DEVICE)

    def step():
        with torch.no_grad():
            y = net(x)
            y = y.cpu().clamp(0, 1).to(DEVICE) if fault else y.clamp(0, 1)
            net(y)

    return step


def rows(fault):
    """A loop takes the rows of a tensor one by one."""
    x = torch.rand(256, 1024, device=DEVICE)

    def step():
        total = torch.zeros(1024, device=DEVICE)
        if fault:
            for i in range(256):
                total = total + x[i] * 2
        else:
            total = total + (x * 2).sum(0)
        return total @ x.T

    return step


def nothing(fault):
    """There is nothing to find: large products keep the device busy."""
    net = mlp(6, 4096 // BIG).to(torch.bfloat16)
    x = torch.rand(8192 // BIG, 4096 // BIG, device=DEVICE, dtype=torch.bfloat16)
    train = trainer(net)
    return lambda: train(x)


PROGRAMS = {one.__name__: one for one in (
    pageable, optimizer, bias, tiny, tf32, channels_last, item, loader, python_work, empty_cache, zero_grad, padding, clones,
    round_trip, rows, nothing)}


def mean_us(step):
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    wait()
    return (time.perf_counter() - begin) / STEPS * 1e6


def times(name):
    means = {True: [], False: []}
    for fault in (True, False):
        torch.manual_seed(1)
        step = PROGRAMS[name](fault)
        for _ in range(WARM_UP):
            step()
        wait()
        means[fault] = [mean_us(step) for _ in range(ROUNDS)]
    print(name, *(f"{statistics.median(means[fault]):.1f}" for fault in (True, False)), flush=True)


def main():
    if len(sys.argv) == 1:
        print("\n".join(PROGRAMS))
    elif sys.argv[1] == "times":
        for name in sys.argv[2:] or PROGRAMS:
            times(name)
    else:
        torch.manual_seed(1)
        step = PROGRAMS[sys.argv[1]](sys.argv[2] == "on")
        for _ in range(WARM_UP):
            step()
        wait()
        mean_us(step)


if __name__ == "__main__":
    main()
