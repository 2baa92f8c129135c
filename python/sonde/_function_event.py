# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's events. Figures come from C++: an event of a trace is a handle until one of its attributes is asked for."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple

from sonde._arguments import Arguments
from sonde._device_type import DeviceType, _device_type
from sonde._times import FormattedTimesMixin, Interval, Kernel, _renamed

# The fields of a row of the C++ list, in order (python/module/events_type.cpp).
_EVENT_FIELDS = (
    "id", "name", "overload_name", "_start_us", "_end_us", "thread", "fwd_thread", "sequence_nr", "scope", "_device_type",
    "device_index", "is_async", "is_user_annotation", "cpu_memory_usage", "device_memory_usage", "flops", "cpu_time_total",
    "self_cpu_time_total", "device_time_total", "self_device_time_total", "self_cpu_memory_usage", "self_device_memory_usage",
    "_parent", "trace_name", "activity_type", "device_resource_id")


# PyTorch's numbers.
_FLOW_TYPES = {"fwdbwd": 1, "ac2g": 2}


class _Source:
    """The events of one list, each made once."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.made: Dict[int, FunctionEvent] = {}
        self._arguments: Optional[Arguments] = None
        self._flows: Optional[Dict[int, Tuple[int, int, bool]]] = None
        self._calls: Optional[Dict[int, int]] = None
        self._metadata: Any = None

    def of_span(self, event: FunctionEvent, column: str) -> int:
        """The value of its row in the table of spans, 0 if there is none."""
        return 0 if event.span is None else self.native.trace.table("spans").column(column)[event.span] or 0

    def flow(self, event: FunctionEvent) -> Tuple[int, int, bool]:
        """The number and type of the arrow that begins or ends at an event, and whether it begins."""
        if self._flows is None:
            table = self.native.trace.table("flows")
            ids, kinds, starts, ends = (table.column(name) for name in ("id", "kind", "from_span", "to_span"))
            self._flows = {}
            for row in range(len(ids)):
                kind = _FLOW_TYPES.get(kinds[row])
                if kind is not None:
                    self._flows[starts[row]] = (ids[row], kind, True)
                    self._flows[ends[row]] = (ids[row], kind, False)
        return (0, 0, False) if event.span is None else self._flows.get(event.span, (0, 0, False))

    def of_call(self, event: FunctionEvent, column: str) -> int:
        """The value of its row in the table of calls of Python functions, -1 if there is none."""
        table = self.native.trace.table("python_calls")
        if self._calls is None:
            spans = table.column("span")
            self._calls = {spans[row]: row for row in range(len(spans))}
        row = None if event.span is None else self._calls.get(event.span)
        value = None if row is None else table.column(column)[row]
        return -1 if value is None else value

    def metadata(self, event: FunctionEvent) -> Optional[str]:
        """What Kineto's file says of it, as JSON."""
        if event.span is None:
            return None
        if self._metadata is None:
            self._metadata = self.native.span_arguments()
        return self._metadata.of(event.span) or None

    @property
    def arguments(self) -> Arguments:
        if self._arguments is None:
            self._arguments = Arguments(self.native.trace)
        return self._arguments

    def event(self, index: int) -> FunctionEvent:
        event = self.made.get(index)
        if event is None:
            event = self.made[index] = FunctionEvent.__new__(FunctionEvent)
            event.__dict__.update(_source=self, _index=index)
        return event


class FunctionEvent(FormattedTimesMixin):
    """One event: an operator, a range, a call, or work of a device.

    Times are in microseconds since the recording began, memory is in bytes. What begins with `self_` leaves out the events inside.
    `sequence_nr` joins a gradient with its operator, `linked_correlation_id` work of a device with the call that launched it, `span` is
    the row in the trace's table of spans.
    """

    id: int
    name: str
    overload_name: str
    trace_name: Optional[str]
    activity_type: str
    thread: int
    fwd_thread: Optional[int]
    sequence_nr: int
    scope: int
    time_range: Interval
    input_shapes: Any
    structured_input_shapes: List[Any]
    structured_input_strides: List[Any]
    input_dtypes: List[str]
    concrete_inputs: List[Any]
    kwinputs: Dict[str, Any]
    stack: List[str]
    kernels: List[Kernel]
    cpu_children: List[FunctionEvent]
    cpu_parent: Optional[FunctionEvent]
    count: int
    flops: Optional[int]
    device_type: Any
    device_index: int
    device_resource_id: int
    use_device: Optional[str]
    is_async: bool
    is_remote: bool
    is_legacy: bool
    is_user_annotation: bool
    is_python_function: bool
    node_id: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    device_memory_usage: int
    self_device_memory_usage: int
    external_id: int
    linked_correlation_id: int
    flow_id: int
    flow_type: int
    flow_start: bool
    python_id: int
    python_parent_id: int
    python_module_id: int
    metadata: Dict[str, Any]
    metadata_json: Optional[str]
    arguments: Dict[str, Any]
    span: Optional[int]

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, overload_name: Optional[str] = None,
                 fwd_thread: Optional[int] = None, input_shapes: Any = None, stack: Optional[List[str]] = None, scope: int = 0,
                 use_device: Optional[str] = None, cpu_memory_usage: int = 0, device_memory_usage: int = 0,
                 is_async: bool = False, is_remote: bool = False, sequence_nr: int = -1, node_id: int = -1,
                 device_type: Any = DeviceType.CPU, device_index: int = 0, device_resource_id: Optional[int] = None,
                 is_legacy: bool = False, flops: Optional[int] = None, trace_name: Optional[str] = None,
                 concrete_inputs: Any = None, kwinputs: Any = None, is_user_annotation: bool = False,
                 metadata_json: Optional[str] = None) -> None:
        given = dict(locals())
        for word in ("self", "start_us", "end_us"):
            given.pop(word)
        self.__dict__.update(given)
        self.time_range = Interval(start_us, end_us)
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.kernels: List[Kernel] = []
        self.count = 1
        self.cpu_children: List[FunctionEvent] = []
        self.cpu_parent: Optional[FunctionEvent] = None

    key = property(lambda self: self.name, doc="Its name, by which averages are grouped.")
    cuda_time_total = _renamed("cuda_time_total", "device_time_total")
    self_cuda_time_total = _renamed("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _renamed("self_cuda_memory_usage", "self_device_memory_usage")

    def __getattr__(self, name: str) -> Any:
        """What is not set: a field of the row in C++, or what is made from it."""
        values = self.__dict__
        if "_source" not in values:
            if name in _COMPUTED:
                return _COMPUTED[name](self)
        elif name in _FIELD_AT:
            row = values.get("_row")
            if row is None:
                row = values["_row"] = self._source.native.row(self._index)
            return row[_FIELD_AT[name]]
        elif name in _LAZY:
            value = values[name] = _LAZY[name](self)
            return value
        raise AttributeError(f"'FunctionEvent' object has no attribute '{name}'")

    def __dir__(self) -> List[str]:
        lazy = (*_FIELD_AT, *_LAZY) if "_source" in self.__dict__ else tuple(_COMPUTED)
        return sorted({*super().__dir__(), *(name for name in lazy if not name.startswith("_"))})

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Adds work of a device that this event launched."""
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Makes `child` a child of this event. The sums that C++ has computed do not change."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Says which event it is in."""
        self.cpu_parent = parent

    def __getstate__(self) -> Dict[str, Any]:
        state = {name: getattr(self, name) for name in (*_FIELD_AT, *_LAZY)} if "_source" in self.__dict__ else {}
        state.update(self.__dict__)
        return {name: value for name, value in state.items() if name not in ("_source", "_index", "_row")}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        if "_source" in self.__dict__:
            return self._source.native.text(self._index)
        device = self.use_device
        return (f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} device_type={self.device_type} "
                f"node_id={self.node_id} cpu_time={self.cpu_time_str} start_us={self.time_range.start} "
                f"end_us={self.time_range.end} cpu_children={[child.id for child in self.cpu_children]} "
                f"{device}_time={self.device_time_str} name={self.name} thread={self.thread} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
                f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
                f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>")


def _kernels_of(event: FunctionEvent) -> List[Kernel]:
    launched = [event._source.event(i) for i in event._source.native.kernels(event._index)]
    return [Kernel(one.name, one.device_index, one.time_range.elapsed_us()) for one in launched]


def _shapes(text: str) -> List[Any]:
    return json.loads(text) if text else []


_FIELD_AT = {name: at for at, name in enumerate(_EVENT_FIELDS)}
# What is made from a row, once.
_LAZY: Dict[str, Callable[[FunctionEvent], Any]] = {
    "device_type": lambda event: _device_type(event._device_type),
    "time_range": lambda event: Interval(event._start_us, event._end_us),
    "use_device": lambda event: event._source.native.use_device,
    "node_id": lambda event: -1,
    "is_remote": lambda event: False,
    "is_legacy": lambda event: False,
    "count": lambda event: 1,
    "input_shapes": lambda event: _shapes(event._source.native.shapes(event._index)),
    "stack": lambda event: event._source.native.stack(event._index),
    "kernels": _kernels_of,
    "cpu_children": lambda event: [event._source.event(i) for i in event._source.native.children(event._index)],
    "cpu_parent": lambda event: event._source.event(event._parent) if event._parent >= 0 else None,
    "arguments": lambda event: json.loads(event._source.native.arguments(event._index) or "{}"),
    "metadata_json": lambda event: event._source.metadata(event),
    "span": lambda event: event._source.native.span(event._index),
    "external_id": lambda event: event._source.of_span(event, "external_id"),
    "linked_correlation_id": lambda event: event._source.of_span(event, "correlation"),
    "flow_id": lambda event: event._source.flow(event)[0],
    "flow_type": lambda event: event._source.flow(event)[1],
    "flow_start": lambda event: event._source.flow(event)[2],
    "is_python_function": lambda event: event.activity_type == "python_function",
    "python_id": lambda event: event._source.of_call(event, "python_id"),
    "python_parent_id": lambda event: event._source.of_call(event, "parent_python_id"),
    "python_module_id": lambda event: event._source.of_call(event, "module_id"),
    "concrete_inputs": lambda event: event._source.arguments.concrete_inputs(event.span),
    "kwinputs": lambda event: event._source.arguments.keyword_inputs(event.span),
    "input_dtypes": lambda event: event._source.arguments.input_dtypes(event.span),
    "metadata": lambda event: json.loads(event.metadata_json or "{}"),
    "structured_input_shapes": lambda event: event._source.arguments.input_shapes(event.span),
    "structured_input_strides": lambda event: event._source.arguments.input_strides(event.span),
}

_DEVICES = ("CUDA", "PrivateUse1", "MTIA", "HPU", "XPU")


def _is_cpu(event: FunctionEvent) -> bool:
    return getattr(event.device_type, "name", "") == "CPU"


def _device_total(event: FunctionEvent) -> float:
    if event.is_async or not event.use_device:
        return 0
    if not _is_cpu(event):
        assert event.device_type.name in _DEVICES
        return event.time_range.elapsed_us()
    own = sum(kernel.duration for kernel in event.kernels)
    return own if event.is_legacy else own + sum(child.device_time_total for child in event.cpu_children)


def _own(total: str) -> Callable[[FunctionEvent], Any]:
    def own(event: FunctionEvent) -> Any:
        if event.is_async or not _is_cpu(event):
            return 0
        return getattr(event, total) - sum(getattr(child, total) for child in event.cpu_children)

    return own


# For an event that a program made, computed as in PyTorch.
_COMPUTED: Dict[str, Callable[[FunctionEvent], Any]] = {
    "cpu_time_total": lambda event: event.time_range.elapsed_us() if _is_cpu(event) else 0,
    "self_cpu_time_total": _own("cpu_time_total"),
    "device_time_total": _device_total,
    "self_device_time_total": lambda event: _own("device_time_total")(event) if _is_cpu(event) else _device_total(event),
    "self_cpu_memory_usage": _own("cpu_memory_usage"),
    "self_device_memory_usage": _own("device_memory_usage"),
}
