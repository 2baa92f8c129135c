# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.autograd.profiler_util`."""

from __future__ import annotations

from sonde._averages import FunctionEventAvg
from sonde._event_list import EventList, MemRecordsAcc, StringTable
from sonde._function_event import FunctionEvent
from sonde._times import FormattedTimesMixin, Interval, Kernel, _format_time

# Names of events.
MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"

__all__ = ["EventList", "FormattedTimesMixin", "Interval", "Kernel", "FunctionEvent", "FunctionEventAvg", "StringTable",
           "MemRecordsAcc"]
