# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's events: `EventList`, `FunctionEvent`, `FunctionEventAvg`.

Figures come from C++. An event of a trace is a handle until one of its attributes is asked for.
"""

from __future__ import annotations

import enum
import html
import json
import os
import sys
import warnings
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from sonde import _native
from sonde._arguments import Arguments


class DeviceType(enum.IntEnum):
    """The numbers are PyTorch's."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


def _device_type(number: int) -> Any:
    """torch's own value if torch is loaded, because it is equal to no other."""
    known = getattr(sys.modules.get("torch.autograd"), "DeviceType", DeviceType)
    ours = DeviceType(number) if number in DeviceType._value2member_map_ else number
    return getattr(known, getattr(ours, "name", ""), ours)


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
    return property(lambda self: _format_time(getattr(self, name)))


def _renamed(old: str, new: str) -> Any:
    def get(self: Any) -> Any:
        warnings.warn(f"`{old}` is deprecated, please use `{new}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(get)


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
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        return 0.0 if self.count == 0 else self.device_time_total / self.count


# The fields of a row of the C++ list, in order (python/module/events_type.cpp).
_EVENT_FIELDS = (
    "id", "name", "overload_name", "_start_us", "_end_us", "thread", "fwd_thread", "sequence_nr", "scope", "_device_type",
    "device_index", "is_async", "is_user_annotation", "cpu_memory_usage", "device_memory_usage", "flops", "cpu_time_total",
    "self_cpu_time_total", "device_time_total", "self_device_time_total", "self_cpu_memory_usage", "self_device_memory_usage",
    "_parent", "trace_name", "activity_type", "device_resource_id")
_AVERAGE_FIELDS = (
    "key", "overload_name", "input_shapes", "stack", "arguments", "device_type", "scope", "is_async", "is_user_annotation",
    "_has_parent", "count", "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
    "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops")


# PyTorch's numbers.
_FLOW_TYPES = {"fwdbwd": 1, "ac2g": 2}


class _Source:
    """The events of one list, each made once."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.made: Dict[int, FunctionEvent] = {}
        self._arguments: Optional[Arguments] = None
        self._flows: Optional[Dict[int, Tuple[int, int, bool]]] = None

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
        return self._flows.get(event.span, (0, 0, False))

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
    """One event: an operator, a range, a call, or work of a device."""

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

    key = property(lambda self: self.name)
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
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Makes `child` a child of this event. The sums that C++ has computed do not change."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
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
    "metadata_json": lambda event: event._source.native.arguments(event._index) or None,
    "span": lambda event: event._source.native.span(event._index),
    "external_id": lambda event: event._source.of_span(event, "external_id"),
    "linked_correlation_id": lambda event: event._source.of_span(event, "correlation"),
    "flow_id": lambda event: event._source.flow(event)[0],
    "flow_type": lambda event: event._source.flow(event)[1],
    "flow_start": lambda event: event._source.flow(event)[2],
    "is_python_function": lambda event: event.activity_type == "python_function",
    "python_id": lambda event: -1,
    "python_parent_id": lambda event: -1,
    "python_module_id": lambda event: -1,
    "concrete_inputs": lambda event: event._source.arguments.concrete_inputs(event.span),
    "kwinputs": lambda event: event._source.arguments.keyword_inputs(event.span),
    "input_dtypes": lambda event: event._source.arguments.input_dtypes(event.span),
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


class StringTable(dict):
    """Returns names unchanged; C++ has demangled them."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class EventList(list):
    """PyTorch's list of events, or of averages. Its items are made on demand."""

    def __init__(self, *args: Any, use_device: Optional[str] = None, profile_memory: bool = False, with_flops: bool = False) -> None:
        super().__init__(*args)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._native: Any = None
        self._fill: Optional[Callable[[], List[Any]]] = None
        self._get: Optional[Callable[[int], Any]] = None
        self._events: Any = None

    @classmethod
    def _of_native(cls, native: Any) -> EventList:
        source = _Source(native)
        made = cls(use_device=native.use_device, profile_memory=native.profile_memory, with_flops=native.with_flops)
        made._native = made._events = native
        made._get = source.event
        made._fill = lambda: [source.event(i) for i in range(len(native))]
        return made

    @classmethod
    def _of_averages(cls, averages: Any, events: Any) -> EventList:
        made = cls(use_device=events.use_device, profile_memory=events.profile_memory, with_flops=events.with_flops)
        made._native = averages
        made._events = events
        made._fill = lambda: [FunctionEventAvg._of_row(row, events.use_device) for row in averages.rows()]
        return made

    def _filled(self) -> EventList:
        if self._fill is not None:
            fill, self._fill, self._get = self._fill, None, None
            super().extend(fill())
        return self

    def __len__(self) -> int:
        return len(self._native) if self._fill is not None else super().__len__()

    def __bool__(self) -> bool:
        return len(self) > 0

    def __getitem__(self, index: Any) -> Any:
        if self._get is not None and isinstance(index, int) and -len(self) <= index < len(self):
            return self._get(index % len(self))
        self._filled()
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Any]:
        if self._get is not None:
            return map(self._get, range(len(self)))
        self._filled()
        return super().__iter__()

    def __radd__(self, other: List[Any]) -> List[Any]:
        return other + list(self)

    def __reduce__(self) -> Any:
        return (_plain_list, (list(self), self._use_device, self._profile_memory, self._with_flops))

    def _is_as_made(self) -> bool:
        """Whether it still equals the list in C++."""
        return self._native is not None

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, max_src_column_width: Optional[int] = 75,
              max_name_column_width: Optional[int] = 55, max_shapes_column_width: Optional[int] = 80,
              header: Optional[str] = None, top_level_events_only: bool = False, time_unit: Optional[str] = None,
              columns: Sequence[str] = ()) -> str:
        """PyTorch's table. `columns` are Sonde's own, after PyTorch's (docs/metrics.md)."""
        if not self:
            return ""
        options = (sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
                   top_level_events_only, time_unit, tuple(columns))
        try:
            if self._native is not None:
                return self._native.table(*options)
            facts = (self._use_device or "", self._profile_memory, self._with_flops)
            return _native.table_of_rows([_row_of(item) for item in self], facts, options)
        except ValueError as error:
            if sort_by is not None and sort_by in str(error):
                raise AttributeError(str(error)) from None
            raise

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Events added up by name and, if asked for, by shapes, by the innermost frames of their stacks, and by overload."""
        if self._native is None:
            return self._averages_of_items(group_by_input_shapes, group_by_stack_n, group_by_overload_name)
        averages = self._events.averages(group_by_input_shapes, group_by_stack_n, group_by_overload_name)
        return EventList._of_averages(averages, self._events)

    def _averages_of_items(self, by_shapes: bool, by_stack: int, by_overload: bool) -> EventList:
        groups: Dict[Tuple[str, ...], FunctionEventAvg] = {}
        for item in self:
            key = [str(part) for part in (item.key, item.node_id, item.device_type, item.is_legacy, item.is_user_annotation)]
            key += [str(item.overload_name)] if by_overload else []
            key += [str(item.input_shapes)] if by_shapes else []
            key += list(item.stack or ())[:by_stack] if by_stack > 0 else []
            groups.setdefault(tuple(key), FunctionEventAvg()).add(item)
        averages = EventList(groups.values(), use_device=self._use_device, profile_memory=self._profile_memory,
                             with_flops=self._with_flops)
        for row in groups.values():
            row.stack = list(row.stack or ())[:by_stack]
            row.input_shapes = row.input_shapes if by_shapes else ""
            row.overload_name = row.overload_name if by_overload else ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All events added up; nested ones count again, as in PyTorch."""
        if self._native is None:
            total = FunctionEventAvg()
            for item in self:
                total.add(item)
                total.key = None
            total.key = "Total"
            return total
        total = FunctionEventAvg._of_row(self._events.total(), self._use_device)
        total.key = "Total"
        return total

    @property
    def self_cpu_time_total(self) -> float:
        if self._native is None:
            return sum(item.self_cpu_time_total for item in self)
        return self._events.self_cpu_time_total

    def supported_export_stacks_metrics(self) -> List[str]:
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Writes collapsed stacks, for flame graphs."""
        if metric not in self.supported_export_stacks_metrics() + ["self_device_time_total"]:
            raise ValueError("metric should be one of: " + str(self.supported_export_stacks_metrics()))
        if self._native is not None:
            self._events.export_stacks(os.fspath(path), metric)
            return
        of = "self_cpu_time_total" if metric == "self_cpu_time_total" else "self_device_time_total"
        spoiling = str.maketrans(" ;\t\n", "____")
        lines = []
        for item in self:
            if item.stack and int(getattr(item, of)) > 0:
                lines.append(";".join(frame.translate(spoiling) for frame in reversed(item.stack)) + f" {int(getattr(item, of))}\n")
        _write_whole(os.fspath(path), "".join(lines))

    def export_chrome_trace(self, path: str) -> None:
        """Writes Kineto's JSON, compressed if the name ends in `.gz`. A list that the program made or changed is written as JSON with
        its names and times."""
        if self._native is not None:
            _export_chrome_trace(self._events.trace, path)
            return
        _write_whole(os.fspath(path), json.dumps([_chrome_event(item) for item in self]))

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _row_of(item: Any) -> Tuple[Any, ...]:
    """An event or an average as C++ takes it: the fields of _AVERAGE_FIELDS."""
    shapes = item.input_shapes
    device = getattr(item.device_type, "name", "CPU")
    return (str(item.key), item.overload_name or "", "" if shapes in (None, "") else str(shapes), [str(frame) for frame in item.stack or ()], "",
            int(DeviceType[device]) if device in DeviceType.__members__ else 0, int(item.scope or 0), bool(item.is_async),
            bool(getattr(item, "is_user_annotation", False)), item.cpu_parent is not None, int(item.count), float(item.cpu_time_total),
            float(item.self_cpu_time_total), float(item.device_time_total), float(item.self_device_time_total),
            int(item.cpu_memory_usage), int(item.self_cpu_memory_usage), int(item.device_memory_usage),
            int(item.self_device_memory_usage), int(item.flops or 0))


def _chrome_event(item: Any) -> Dict[str, Any]:
    return {"name": item.name, "ph": "X", "ts": item.time_range.start, "dur": item.time_range.elapsed_us(),
            "tid": item.thread if not item.is_remote else f'" node_id:{item.node_id}, thread_id:{item.thread} "', "pid": "CPU functions",
            "args": {}}


def _write_whole(path: str, text: str) -> None:
    partial = f"{path}.part{os.getpid()}"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def _export_chrome_trace(native: Any, path: str) -> None:
    """Takes any name, as PyTorch does; the format is JSON."""
    path = os.fspath(path)
    if path.endswith((".json", ".json.gz")):
        native.export("", path, "")
        return
    suffix = ".json.gz" if path.endswith(".gz") else ".json"
    partial = f"{path}.part{os.getpid()}{suffix}"
    try:
        native.export("", partial, "")
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _plain_list(items: List[Any], use_device: Optional[str], profile_memory: bool, with_flops: bool) -> EventList:
    return EventList(items, use_device=use_device, profile_memory=profile_memory, with_flops=with_flops)


def _changing(name: str) -> Callable[..., Any]:
    change = getattr(list, name)

    def method(self: EventList, *args: Any, **kwargs: Any) -> Any:
        self._filled()
        self._native = None
        return change(self, *args, **kwargs)

    method.__name__ = name
    return method


def _looking(name: str) -> Callable[..., Any]:
    look = getattr(list, name)

    def method(self: EventList, *args: Any, **kwargs: Any) -> Any:
        return look(self._filled(), *args, **kwargs)

    method.__name__ = name
    return method


for _name in ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "__setitem__", "__delitem__", "__iadd__",
              "__imul__"):
    setattr(EventList, _name, _changing(_name))
for _name in ("copy", "index", "count", "__contains__", "__reversed__", "__add__", "__mul__", "__rmul__", "__eq__", "__ne__", "__lt__",
              "__le__", "__gt__", "__ge__", "__repr__"):
    setattr(EventList, _name, _looking(_name))
EventList.__hash__ = None  # type: ignore[assignment]
