# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`profile` and `_KinetoProfile`. The schedule, the recording and the results are C++'s."""

from __future__ import annotations

import html
import json
import logging
import os
import sys
import warnings
import weakref
from typing import Any, Callable, Iterable, Optional

from sonde import _native
from sonde._averages import FunctionEventAvg
from sonde._calls import follow_calls, follow_collections, tell_cost_of_calls
from sonde._event_list import EventList
from sonde._files import _export_chrome_trace
from sonde._function_event import FunctionEvent
from sonde._modules import follow_modules
from sonde._step_tracker import KinetoStepTracker
from sonde._tensors import finish_tensors, follow_tensors
from sonde._torch import tell_torch
from sonde._trace import Trace
from sonde.profiler._actions import (ProfilerAction, _action_number, _activities, _activity, _attach_sources, _check_types, _kinds,
                                     supported_activities)
from sonde.profiler._execution_trace import ExecutionTraceObserver
from sonde.profiler._experimental_config import _switches, _warn_of
from sonde.profiler._kineto_results import KinetoResults

_log = logging.getLogger("sonde.autograd.profiler")
_STEP_NAME = "ProfilerStep"
_RECORDING = (ProfilerAction.RECORD.value, ProfilerAction.RECORD_AND_SAVE.value)
_DEVICES = {"CUDA": "cuda", "XPU": "xpu", "MTIA": "mtia", "HPU": "hpu", "PrivateUse1": "privateuseone"}


def _distributed_json() -> Optional[str]:
    """What torch.distributed says of the job, as PyTorch's files have it."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return json.dumps({
        "backend": distributed.get_backend(),
        "rank": distributed.get_rank(),
        "world_size": distributed.get_world_size(),
    })


class _Results:
    """The answers of a profiler, from the cycle that it recorded last."""

    _native: Any
    _trace: Optional[Trace] = None
    _kineto_results: Optional[KinetoResults] = None

    def _forget(self) -> None:
        self._trace = self._kineto_results = None

    def trace(self) -> Trace:
        """The recording as a `sonde.Trace`, with its tables and every answer of the program `sonde`."""
        if self._trace is None:
            try:
                self._trace = Trace(self._native.trace(), self._native.path)
            except ValueError as error:
                raise RuntimeError(str(error)) from None
        return self._trace

    def _results(self) -> KinetoResults:
        trace = self.trace()
        if self._kineto_results is None:
            self._kineto_results = KinetoResults(trace)
        return self._kineto_results

    def save(self, path: str) -> None:
        """Writes a `.sonde` file."""
        self._native.save(os.fspath(path))

    _has_events = True
    _has_time_for_events = True

    def _limit_events(self, experimental_config: Any, with_stack: bool, timeout_s: Optional[float]) -> None:
        self._has_time_for_events = timeout_s is None or timeout_s > 0
        self._has_events = not getattr(experimental_config, "trace_only", False)
        if not self._has_events and with_stack:
            self._has_events = True
            warnings.warn("trace_only has no effect together with with_stack", stacklevel=4)

    def _events_of_trace(self) -> EventList[FunctionEvent]:
        if not self._has_events:
            raise RuntimeError("there are no events because of trace_only=True; export_chrome_trace() writes the trace")
        if not self._has_time_for_events:
            _log.warning("post-processing timed out after 0 s: these are partial results, without any event")
            return EventList()
        return self.trace().events()


class _Inner:
    """`prof.profiler`: what PyTorch's own inner profiler answers."""

    def __init__(self, outer: _KinetoProfile) -> None:
        self._outer = weakref.ref(outer)

    def _asked(self) -> _KinetoProfile:
        outer = self._outer()
        if outer is None:
            raise RuntimeError("the profiler that this belongs to is gone")
        return outer

    @property
    def function_events(self) -> EventList[FunctionEvent]:
        return self._asked().events()

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    @property
    def trace_id(self) -> str:
        return self._asked()._native.trace_id

    @property
    def kineto_results(self) -> KinetoResults:
        """The events as PyTorch's recorder has them, and their tree."""
        return self._asked()._results()

    def table(self, *args: Any, **kwargs: Any) -> str:
        return self.function_events.table(*args, **kwargs)

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList[FunctionEventAvg]:
        return self._asked().key_averages(*args, **kwargs)

    def total_average(self) -> FunctionEventAvg:
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str) -> None:
        self._asked().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        self.function_events.export_stacks(path, metric)

    def __str__(self) -> str:
        return str(self.function_events)


class _KinetoProfile(_Results):
    """A profiler without a schedule: `start()`, `stop()`, and their phases."""

    def __init__(self, *, activities: Optional[Iterable[Any]] = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
                 experimental_config: Any = None, execution_trace_observer: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Optional[Callable[[], str]] = None,
                 post_processing_timeout_s: Optional[float] = None, with_calls: bool = False, output: str = "",
                 with_native_stack: bool = False) -> None:
        self._setup(activities, record_shapes, profile_memory, with_stack, with_flops, with_modules, experimental_config,
                    execution_trace_observer, acc_events, custom_trace_id_callback, post_processing_timeout_s, with_calls, output,
                    with_native_stack, None, None)

    def _setup(self, activities: Optional[Iterable[Any]], record_shapes: bool, profile_memory: bool, with_stack: bool,
               with_flops: bool, with_modules: bool, experimental_config: Any, execution_trace_observer: Any, acc_events: bool,
               custom_trace_id_callback: Optional[Callable[[], str]], post_processing_timeout_s: Optional[float], with_calls: bool, output: str,
               with_native_stack: bool, schedule: Optional[Callable[[int], int]], ready: Optional[Callable[[], None]]) -> None:
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        _attach_sources()
        given = dict.fromkeys(supported_activities()) if activities is None else _activities(activities)
        self.activities = set(given)
        self.activity_filters = {activity: names for activity, names in given.items() if names is not None}
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack = with_stack or with_native_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.with_calls = with_calls
        self.experimental_config = experimental_config
        self.acc_events = acc_events
        self.execution_trace_observer: Any = execution_trace_observer or ExecutionTraceObserver.build_execution_trace_obs_from_env()
        if experimental_config is not None:
            _warn_of(experimental_config)
        self._limit_events(experimental_config, with_stack, post_processing_timeout_s)
        self._ours = isinstance(self.execution_trace_observer, ExecutionTraceObserver)
        self._inner = _Inner(self)
        self._native = _native.profiler(
            [activity.value for activity in self.activities], record_shapes or with_flops, profile_memory, with_stack, with_flops,
            with_modules, with_native_stack, acc_events, *_switches(experimental_config), os.fspath(output), schedule, ready,
            custom_trace_id_callback, self.execution_trace_observer._native if self._ours else None, _kinds(given))

    @property
    def use_device(self) -> Optional[str]:
        names = {activity.name for activity in self.activities}
        return next((device for name, device in _DEVICES.items() if name in names), None)

    @property
    def profiler(self) -> Optional[_Inner]:
        return self._inner if self._native.trace_id else None

    def _observe(self, on: bool) -> None:
        """Observers of the program's own; Sonde's is C++'s."""
        if self.execution_trace_observer is None or self._ours:
            return
        self.execution_trace_observer.start() if on else self.execution_trace_observer.stop()

    def start(self) -> None:
        """Begins to record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Ends the recording."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Opens the recording and prepares its sources."""
        _check_types(self.activity_filters)
        self._forget()
        _attach_sources()
        self._native.prepare_trace()

    def start_trace(self) -> None:
        """Begins to record; call `prepare_trace()` before."""
        self._assert_prepared()
        self._observe(True)
        self._native.start_trace()
        self._tell(True)
        self._describe_job()

    def stop_trace(self) -> None:
        """Ends the recording."""
        self._assert_prepared()
        self._observe(False)
        self._before_end()
        self._native.stop_trace()
        self._tell(False)
        self._forget()

    @property
    def _follows_tensors(self) -> bool:
        return self.profile_memory and (self.record_shapes or self.with_flops)

    def _before_end(self) -> None:
        if self._follows_tensors:
            finish_tensors()
        if self.with_calls:
            tell_cost_of_calls()

    def _tell(self, is_recording: bool) -> None:
        tell_torch(self, is_recording)
        if self._follows_tensors:
            follow_tensors(self, is_recording)
        if self.with_modules:
            follow_modules(self, is_recording)
        if self.with_calls:
            follow_calls(self, is_recording)
        if getattr(self.experimental_config, "record_python_gc_info", False):
            follow_collections(self, is_recording)

    def _describe_job(self) -> None:
        described = _distributed_json()
        if described is not None:
            self._native.add_metadata_json("distributedInfo", described)

    def _assert_prepared(self) -> None:
        if not self._native.trace_id:
            raise AssertionError("the profiler was not prepared: call start() or prepare_trace() first")

    def events(self) -> EventList[FunctionEvent]:
        """The events of the last cycle, or of all with `acc_events`. They are made when you look at them."""
        self._assert_prepared()
        return self._events_of_trace()

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList[FunctionEventAvg]:
        """Events added up by name, and by shapes, stacks or overloads if asked for."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes Kineto's JSON, for Perfetto, chrome://tracing and HTA; compressed if the name ends in `.gz`."""
        self._assert_prepared()
        _export_chrome_trace(self._native.trace(), path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes collapsed stacks, for flame graphs."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: Optional[str] = None) -> None:
        """Writes who held the memory over time: `.html`, `.svg`, `.json`, `.json.gz` or `.raw.json.gz`."""
        self._native.export_memory_timeline(os.fspath(path), device or "")

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the trace."""
        self._native.add_metadata(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds JSON to the trace. ValueError if it is none."""
        self._native.add_metadata_json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Adds JSON to every cycle that starts from now on."""
        self._native.preset_metadata_json(key, value)

    def get_trace_id(self) -> Optional[str]:
        """The id of the last cycle: 32 hexadecimal digits, or what a callback said. None before the first."""
        return self._native.trace_id or None

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Takes the ids of cycles from a function."""
        self._native.set_custom_trace_id_callback(callback)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Leaves out what begins from now on, of these activities, until it is enabled again. A file that `output` names has it."""
        self._native.toggle(enable, [_activity(one).value for one in activities])

    def _repr_html_(self) -> str:
        if not self._native.trace_id:
            return "<p>a profiler that has recorded nothing yet</p>"
        return self.key_averages()._repr_html_()


class profile(_KinetoProfile):
    """Records a block, or the steps that a schedule chooses.

        with profile(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=handler) as prof:
            for batch in batches:
                train(batch)
                prof.step()

    Arguments are PyTorch's, and three of Sonde's own: `with_calls` records every call of a Python function as a span, as PyTorch's
    `with_stack` does; `output` is a `.sonde` file that grows while recording and survives a crash; `with_native_stack` adds to the
    stacks what Python's lines called natively.
    """

    def __init__(self, *, activities: Optional[Iterable[Any]] = None, schedule: Optional[Callable[[int], Any]] = None,
                 on_trace_ready: Optional[Callable[..., Any]] = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: Optional[bool] = None,
                 custom_trace_id_callback: Optional[Callable[[], str]] = None,
                 post_processing_timeout_s: Optional[float] = None, with_calls: bool = False, output: str = "",
                 with_native_stack: bool = False) -> None:
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.record_steps = schedule is not None
        number = None if schedule is None else _numbers_of(schedule)
        KinetoStepTracker.init_step_count(_STEP_NAME)
        self._setup(activities, record_shapes, profile_memory, with_stack, with_flops, with_modules, experimental_config,
                    execution_trace_observer, acc_events, custom_trace_id_callback, post_processing_timeout_s, with_calls, output, with_native_stack,
                    number, None if on_trace_ready is None else _calls_ready(weakref.ref(self)))

    @property
    def step_num(self) -> int:
        """How many steps have ended since the profiler started."""
        return self._native.step_num

    @property
    def current_action(self) -> ProfilerAction:
        """What it does in the current step."""
        return ProfilerAction(self._native.current_action)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.stop()
        KinetoStepTracker.erase_step_count(_STEP_NAME)
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begins the first step: what the schedule says, or recording."""
        _check_types(self.activity_filters)
        _attach_sources()
        self._move(self._native.start)

    def stop(self) -> None:
        """Ends the recording, and calls `on_trace_ready` if a cycle was recorded."""
        self._move(self._native.stop, is_end=True)

    def step(self) -> None:
        """The end of a step of the program."""
        self._move(self._native.step)
        KinetoStepTracker.increment_step(_STEP_NAME)

    def _move(self, move: Callable[[], None], is_end: bool = False) -> None:
        self._forget()
        was_recording = getattr(self, "_is_recording", False)
        if was_recording and (is_end or self._native.current_action == ProfilerAction.RECORD_AND_SAVE.value):
            self._before_end()
        try:
            move()
        finally:
            self._is_recording = not is_end and self._native.current_action in _RECORDING
            if was_recording != self._is_recording:
                self._observe(self._is_recording)
                self._tell(self._is_recording)
            if self._is_recording and not was_recording:
                self._describe_job()
            self._forget()


def _numbers_of(schedule: Callable[[int], Any]) -> Callable[[int], int]:
    return lambda step: _action_number(schedule(step))


def _calls_ready(outer: Any) -> Callable[[], None]:
    def ready() -> None:
        prof = outer()
        if prof is not None:
            prof._forget()
            prof.on_trace_ready(prof)

    return ready
