# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.profiler.itt`: ranges for VTune."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from sonde import _native


def is_available() -> bool:
    """Whether a tool listens."""
    return _native.itt_available()


def range_push(msg: str) -> None:
    """Begins a range, inside those that are open."""
    _native.itt_push(msg)


def range_pop() -> None:
    """Ends the range that began last."""
    _native.itt_pop()


def mark(msg: str) -> None:
    """Marks a moment."""
    _native.itt_mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range for a block, or for a function as a decorator. `msg` is formatted with the arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__all__ = ["is_available", "range_push", "range_pop", "mark", "range"]
