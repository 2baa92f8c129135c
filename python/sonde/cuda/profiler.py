# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.cuda.profiler`: starts and stops a tool that watches CUDA, such as `nsys profile -c cudaProfilerApi`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from sonde import _native

DEFAULT_FLAGS = ["gpustarttimestamp", "gpuendtimestamp", "gridsize3d", "threadblocksize", "streamid", "enableonstart 0", "conckerneltrace"]


def start() -> None:
    """Calls cudaProfilerStart. RuntimeError if it fails, or if there is no CUDA."""
    _native.cuda_profiler_start()


def stop() -> None:
    """Calls cudaProfilerStop."""
    _native.cuda_profiler_stop()


@contextmanager
def profile() -> Iterator[None]:
    """Starts for a block and stops at its end, even after an exception."""
    try:
        start()
        yield
    finally:
        stop()


__all__ = ["start", "stop", "profile"]
