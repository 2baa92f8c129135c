# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.profiler` by Sonde: the same names, arguments and defaults.

    from sonde.profiler import ProfilerActivity, profile, record_function, schedule

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        with record_function("forward"):
            model(inputs)
    print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))

torch need not be installed: without it, ranges and steps are recorded. docs/python.md says what differs.
"""

from __future__ import annotations

import enum

from sonde._device_type import DeviceType
from sonde._record_function import _RecordFunctionFast, record_function
from sonde.profiler import itt
from sonde.profiler._actions import ProfilerAction, ProfilerActivity, schedule, supported_activities
from sonde.profiler._execution_trace import ExecutionTraceObserver, _ITraceObserver
from sonde.profiler._experimental_config import _ExperimentalConfig
from sonde.profiler._profile import _KinetoProfile, profile
from sonde.profiler._tensorboard import tensorboard_trace_handler

class RecordScope(enum.IntEnum):
    """What an event's `scope` means."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9


_supported_activities = supported_activities


def kineto_available() -> bool:
    """Always: Sonde records without Kineto."""
    return True


__all__ = [
    "profile", "schedule", "supported_activities", "tensorboard_trace_handler", "ProfilerAction", "ProfilerActivity",
    "kineto_available", "DeviceType", "record_function", "ExecutionTraceObserver",
]
