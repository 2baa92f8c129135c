# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tests/cuda/findings.py MODE: a program for a GPU with one fault, or none: what `sonde report` must say first.

For `sonde run --gpu --signal-start USR1 --signal-stop USR2`: the program asks for the recording itself.
"""
import os
import signal
import sys
import time

import torch

ROUNDS = 60


def launches(x, _):
    """Tiny kernels: the host cannot launch them as fast as they run."""
    y = x[:16, :16]
    for _ in range(20):
        y = y + 1
    return y


def outside(x, _):
    """The host computes something else between kernels."""
    y = x[:256, :256] @ x[:256, :256]
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end:
        pass
    return y


def waits(x, _):
    """The host asks for a number after every product."""
    y = x[:1024, :1024] @ x[:1024, :1024]
    return y.sum().item()


def pageable(x, host):
    """A batch comes from memory that is not pinned."""
    return host.to("cuda") @ x


def clean(x, _):
    for _ in range(4):
        x = x @ x
    return x


def main() -> None:
    program = {"launches": launches, "outside": outside, "waits": waits, "pageable": pageable, "clean": clean}[sys.argv[1]]
    x = torch.full((2048, 2048), 1 / 2048, device="cuda")
    host = torch.ones(8192, 2048)
    for _ in range(5):
        program(x, host)
    torch.cuda.synchronize()
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.5)  # until recording is on
    for _ in range(ROUNDS):
        program(x, host)
    torch.cuda.synchronize()
    os.kill(os.getpid(), signal.SIGUSR2)
    time.sleep(0.5)


if __name__ == "__main__":
    main()
