# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.autograd.profiler_util`."""

from __future__ import annotations

from sonde._events import (EventList, FormattedTimesMixin, FunctionEvent, FunctionEventAvg, Interval, Kernel, StringTable,
                           _format_time)

__all__ = ["EventList", "FormattedTimesMixin", "Interval", "Kernel", "FunctionEvent", "FunctionEventAvg", "StringTable"]
