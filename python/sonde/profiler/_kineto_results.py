# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`prof.profiler.kineto_results`: the events of a trace as PyTorch's recorder has them, and their tree."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

from sonde._function_event import FunctionEvent
from sonde._trace import Trace
from sonde.profiler._event_tree import ProfilerEvent, event_tree


def _asked(attribute: str) -> Callable[[Any], Any]:
    return lambda self: getattr(self._event, attribute)


class KinetoEvent:
    """One event, asked by calls."""

    def __init__(self, event: FunctionEvent, first_ns: int) -> None:
        self._event = event
        self._first_ns = first_ns

    def start_ns(self) -> int:
        return self._first_ns + round(self._event.time_range.start * 1000)

    def end_ns(self) -> int:
        return self._first_ns + round(self._event.time_range.end * 1000)

    def duration_ns(self) -> int:
        return self.end_ns() - self.start_ns()

    def start_us(self) -> int:
        """As torch 1 has it, as `duration_us`."""
        return self.start_ns() // 1000

    def duration_us(self) -> int:
        return self.duration_ns() // 1000

    name = _asked("name")
    overload_name = _asked("overload_name")
    correlation_id = _asked("external_id")
    linked_correlation_id = _asked("linked_correlation_id")
    device_type = _asked("device_type")
    device_index = _asked("device_index")
    device_resource_id = _asked("device_resource_id")
    start_thread_id = _asked("thread")
    end_thread_id = _asked("thread")
    fwd_thread_id = _asked("fwd_thread")
    sequence_nr = _asked("sequence_nr")
    scope = _asked("scope")
    is_async = _asked("is_async")
    is_user_annotation = _asked("is_user_annotation")
    is_python_function = _asked("is_python_function")
    activity_type = _asked("activity_type")
    shapes = _asked("input_shapes")
    dtypes = _asked("input_dtypes")
    concrete_inputs = _asked("concrete_inputs")
    kwinputs = _asked("kwinputs")
    stack = _asked("stack")
    flops = _asked("flops")
    flow_id = _asked("flow_id")
    flow_type = _asked("flow_type")
    flow_start = _asked("flow_start")
    metadata_json = _asked("metadata_json")


class TraceActivity:
    """One event, by the names that Kineto's own interface has."""

    def __init__(self, event: KinetoEvent) -> None:
        self._event = event

    def type(self) -> str:
        return self._event.activity_type()

    def name(self) -> str:
        return self._event.name()

    def device_id(self) -> int:
        return self._event.device_index()

    def resource_id(self) -> int:
        return self._event.device_resource_id()

    def timestamp(self) -> int:
        return self._event.start_ns()

    def duration(self) -> int:
        return self._event.duration_ns()

    def correlation_id(self) -> int:
        return self._event.correlation_id()

    def linked_correlation_id(self) -> int:
        return self._event.linked_correlation_id()

    def metadata_json(self) -> str:
        """The members of a JSON object, without its braces."""
        return (self._event.metadata_json() or "{}").strip()[1:-1].strip()


class KinetoResults:
    """What PyTorch's recorder returns. `events()` leaves nothing out, and `experimental_event_tree()` nests."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._tree: Optional[List[ProfilerEvent]] = None

    def trace_start_ns(self) -> int:
        return self._trace.first_ns

    def events(self) -> List[KinetoEvent]:
        return [KinetoEvent(event, self._trace.first_ns) for event in self._trace.events()]

    def trace_activities(self) -> List[TraceActivity]:
        return [TraceActivity(event) for event in self.events()]

    def experimental_event_tree(self) -> List[ProfilerEvent]:
        """The events that no other contains, each with its children: the same objects whenever it is called."""
        if self._tree is None:
            self._tree = event_tree(self._trace._native)
        return list(self._tree)

    def save(self, path: str) -> None:
        """Writes Kineto's JSON."""
        self._trace.export(path)
