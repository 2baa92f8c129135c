# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch's events and averages have in common: times, and their texts."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple


class Kernel(NamedTuple):
    name: str
    device: int
    duration: float


class Interval:
    """Microseconds since the recording began."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length in microseconds."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start}, end={self.end})"


def _format_time(time_us: float) -> str:
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    if time_us >= 1e3:
        return f"{time_us / 1e3:.3f}ms"
    return f"{time_us:.3f}us"


def _time_text(name: str) -> Any:
    return property(lambda self: _format_time(getattr(self, name)), doc=f"`{name}` as text with a unit.")


def _renamed(old: str, new: str) -> Any:
    def get(self: Any) -> Any:
        warnings.warn(f"`{old}` is deprecated, please use `{new}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"Deprecated: `{new}`.")


class FormattedTimesMixin:
    """Times as text, and averages over `count`."""

    count: int
    cpu_time_total: float
    device_time_total: float

    cpu_time_str = _time_text("cpu_time")
    device_time_str = _time_text("device_time")
    cpu_time_total_str = _time_text("cpu_time_total")
    device_time_total_str = _time_text("device_time_total")
    self_cpu_time_total_str = _time_text("self_cpu_time_total")
    self_device_time_total_str = _time_text("self_device_time_total")
    cuda_time = _renamed("cuda_time", "device_time")

    @property
    def cpu_time(self) -> float:
        """The average on the CPU, in microseconds."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """The average on the device, in microseconds."""
        return 0.0 if self.count == 0 else self.device_time_total / self.count
