# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.autograd.profiler` by Sonde.

    from sonde.autograd import profiler
    with profiler.profile(record_shapes=True) as prof:
        model(inputs)
    print(prof.table())
"""

from __future__ import annotations

import os
import uuid
import warnings
from typing import Any, Callable, Iterable, NamedTuple, Optional, Set, Tuple

from sonde import _native
from sonde._averages import FunctionEventAvg
from sonde._calls import follow_collections
from sonde._event_list import EventList, MemRecordsAcc, StringTable
from sonde._files import _export_chrome_trace
from sonde._function_event import FunctionEvent
from sonde._modules import follow_modules
from sonde._record_function import record_function
from sonde._step_tracker import KinetoStepTracker
from sonde._tensors import finish_tensors, follow_tensors
from sonde._times import FormattedTimesMixin, Interval, Kernel
from sonde._torch import tell_torch
from sonde.profiler._actions import ProfilerActivity, _activity, _attach_sources
from sonde.profiler._experimental_config import _switches, _warn_of
from sonde.profiler._kineto_results import KinetoResults
from sonde.profiler._profile import _Results

_ACTIVITY_OF = {"cuda": ProfilerActivity.CUDA, "xpu": ProfilerActivity.XPU, "mtia": ProfilerActivity.MTIA, "hpu": ProfilerActivity.HPU,
                "privateuseone": ProfilerActivity.PrivateUse1}


class ProfilerConfig(NamedTuple):
    """What a profiler was asked for."""

    record_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    with_modules: bool
    experimental_config: Any
    trace_id: str


class profile(_Results):
    """Records a block. torch.profiler's `profile` does the same, with steps and schedules."""

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: Optional[str] = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Optional[Callable[[], str]] = None,
                 post_processing_timeout_s: Optional[float] = None) -> None:
        self.enabled = enabled
        self._is_finished = False
        if not enabled:
            return
        if use_cuda:
            warnings.warn("The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.", FutureWarning,
                          stacklevel=2)
            use_device = "cuda"
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.entered = False
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.acc_events = acc_events
        self.experimental_config = experimental_config
        self.custom_trace_id_callback = custom_trace_id_callback
        if experimental_config is not None:
            _warn_of(experimental_config)
        _attach_sources()
        self.use_device = self._device_that_is_there(use_device)
        assert use_cpu or use_kineto, "Device-only events supported only with Kineto (use_kineto=True)"
        activities = ([ProfilerActivity.CPU] if use_cpu else []) + ([_ACTIVITY_OF[self.use_device]] if self.use_device else [])
        assert activities, "No activities specified for the profiler"
        self._limit_events(experimental_config, with_stack, post_processing_timeout_s)
        self._native = _native.profiler(
            [activity.value for activity in activities], self.record_shapes, profile_memory, with_stack, with_flops, with_modules, False,
            acc_events, *_switches(experimental_config), "", None, None, custom_trace_id_callback, None, None)

    @staticmethod
    def _device_that_is_there(device: Optional[str]) -> Optional[str]:
        if device is None:
            return None
        if device not in _ACTIVITY_OF:
            warnings.warn(f"The {device} is not a valid device option.", stacklevel=3)
            return None
        if _ACTIVITY_OF[device].value not in _native.supported_activities():
            warnings.warn(f"{device.upper()} is not available, disabling {device.upper()} profiling", stacklevel=3)
            return None
        return device

    def __enter__(self) -> Optional[profile]:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._native.prepare_trace()
        self._native.start_trace()
        self._tell(True)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> Optional[bool]:
        if not self.enabled:
            return None
        if self.profile_memory and self.record_shapes:
            finish_tensors()
        self._native.stop_trace()
        self._tell(False)
        self._forget()
        self._is_finished = True
        return False

    def _tell(self, is_recording: bool) -> None:
        tell_torch(self, is_recording)
        if self.profile_memory and self.record_shapes:
            follow_tensors(self, is_recording)
        if self.with_modules:
            follow_modules(self, is_recording)
        if getattr(self.experimental_config, "record_python_gc_info", False):
            follow_collections(self, is_recording)

    def _events(self) -> EventList[FunctionEvent]:
        if not self.enabled or not self._native.trace_id:
            raise RuntimeError("Profiler didn't finish running")
        return self._events_of_trace()

    @property
    def kineto_results(self) -> KinetoResults:
        """The events as PyTorch's recorder has them, and their tree."""
        return self._results()

    @property
    def function_events(self) -> EventList[FunctionEvent]:
        """The events of the block."""
        return self._events()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all self times on the CPU, in microseconds."""
        return self._events().self_cpu_time_total

    @property
    def trace_id(self) -> str:
        """The id of the recording: 32 hexadecimal digits."""
        return self._native.trace_id

    def default_trace_id(self) -> str:
        """A new id: 32 hexadecimal digits."""
        return f"{uuid.uuid4().int:032X}"

    def create_trace_id(self) -> str:
        """A new id, made by `custom_trace_id_callback` if there is one."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    def config(self, create_trace_id: bool = False) -> ProfilerConfig:
        """What it was asked for, with its trace id or with a new one."""
        return ProfilerConfig(self.record_shapes, self.profile_memory, self.with_stack, self.with_flops, self.with_modules,
                              self.experimental_config, self.create_trace_id() if create_trace_id else self.trace_id)

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, max_src_column_width: Optional[int] = 75,
              max_name_column_width: Optional[int] = 55, max_shapes_column_width: Optional[int] = 80,
              header: Optional[str] = None, top_level_events_only: bool = False) -> str:
        """One line for each event."""
        return self._events().table(sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
                                    top_level_events_only)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList[FunctionEventAvg]:
        """Events added up by name, and by shapes, stacks or overloads if asked for."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """All events added up; nested ones count again."""
        return self._events().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Writes Kineto's JSON, compressed if the name ends in `.gz`."""
        self._events()
        _export_chrome_trace(self._native.trace(), path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes collapsed stacks, for flame graphs."""
        assert self.with_stack, "export_stacks() requires with_stack=True"
        self._events().export_stacks(path, metric)

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[Any]) -> None:
        """Leaves out what begins from now on, of these activities, until it is enabled again."""
        self._native.toggle(enabled, [_activity(one).value for one in activities])

    def __repr__(self) -> str:
        return repr(self._events()) if self._is_finished else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self._events()) if self._is_finished else "<unfinished torch.autograd.profile>"


class _Emit:
    _tool = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes
        self._emitted: Any = None

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self._tool.upper()} annotation context manager is not reentrant")
        self.entered = True
        _native.attach_torch()
        self._emitted = _native.emit(self._tool, self.record_shapes)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> Optional[bool]:
        self._emitted = None
        return False if self.enabled else None


class emit_nvtx(_Emit):
    """Shows every operator as a range in Nsight Systems, if it is attached."""

    _tool = "nvtx"


class emit_itt(_Emit):
    """The same for VTune."""

    _tool = "itt"


def load_nvprof(path: str) -> EventList[FunctionEvent]:
    """The ranges in a database of nvprof, with the kernels launched in them."""
    native = _native.load_nvprof(os.fspath(path))
    return EventList._of_native(lambda: native)


parse_nvprof_trace = load_nvprof


class EnforceUnique:
    """Raises an error if a key is seen more than once."""

    def __init__(self) -> None:
        self.seen: Set[Tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """RuntimeError if it was seen before."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


def __getattr__(name: str) -> Any:
    if name == "_is_profiler_enabled":
        return _native.is_recording()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = ["profile", "record_function", "emit_itt", "emit_nvtx", "load_nvprof", "EnforceUnique", "parse_nvprof_trace",
           "KinetoStepTracker", "EventList", "FunctionEvent", "MemRecordsAcc", "FunctionEventAvg", "Interval", "Kernel", "FormattedTimesMixin",
           "StringTable"]
