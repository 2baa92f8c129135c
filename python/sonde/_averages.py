# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Events added up."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from sonde._device_type import DeviceType, _device_type
from sonde._function_event import FunctionEvent, _shapes
from sonde._times import FormattedTimesMixin

# The fields of a row of the C++ list, in order (python/module/events_type.cpp).
_AVERAGE_FIELDS = (
    "key", "overload_name", "input_shapes", "stack", "arguments", "device_type", "scope", "is_async", "is_user_annotation",
    "_has_parent", "count", "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
    "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops")


class FunctionEventAvg(FormattedTimesMixin):
    """Events with the same key, added up."""

    def __init__(self) -> None:
        self.key: Optional[str] = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.use_device: Optional[str] = None
        self.cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: Optional[str] = None
        self.stack: Optional[List[str]] = None
        self.scope: Optional[int] = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: Optional[List[FunctionEvent]] = None
        self.cpu_parent: Optional[FunctionEvent] = None
        self.device_type: Any = DeviceType.CPU
        self.is_legacy = False
        self.flops = 0
        self.is_user_annotation = False

    @classmethod
    def _of_row(cls, row: Tuple[Any, ...], use_device: Optional[str]) -> FunctionEventAvg:
        average = cls()
        values = dict(zip(_AVERAGE_FIELDS, row))
        values["device_type"] = _device_type(values["device_type"])
        values["input_shapes"] = values["input_shapes"] and _shapes(values["input_shapes"])
        average.__dict__.update(values, node_id=-1, use_device=use_device)
        return average

    _ADDED = ("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total", "cpu_memory_usage",
              "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage", "count")
    _DESCRIBED = ("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name", "input_shapes", "stack",
                  "scope", "device_type", "is_legacy", "use_device", "is_user_annotation")

    def add(self, other: Any) -> FunctionEventAvg:
        """Adds an event or an average with the same key."""
        if self.key is None:
            for name in self._DESCRIBED:
                setattr(self, name, getattr(other, name, None))
        assert isinstance(other, (FunctionEvent, FunctionEventAvg))
        assert other.key == self.key
        for name in self._ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.flops is not None:
            self.flops = (self.flops or 0) + other.flops
        return self

    def __iadd__(self, other: Any) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (f"<FunctionEventAvg key={self.key} overload_name={self.overload_name} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
                f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
                f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>")
