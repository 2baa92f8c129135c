# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's lists of events and of averages."""

from __future__ import annotations

import bisect
import functools
import html
import json
import os
import threading
from typing import Any, Callable, DefaultDict, Dict, Iterable, Iterator, List, Optional, Sequence, SupportsIndex, Tuple, TypeVar, Union, overload

from sonde import _native
from sonde._averages import FunctionEventAvg
from sonde._device_type import DeviceType
from sonde._files import _export_chrome_trace, _write_whole
from sonde._function_event import FunctionEvent, _Source


# Several threads may be the first to look at a list.
_making = threading.RLock()


class StringTable(DefaultDict[str, str]):
    """Returns names unchanged; C++ has demangled them."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Finds the records of memory between two times. A record is a pair, of which the first says its `start_ns()`."""

    def __init__(self, mem_records: Iterable[Any]) -> None:
        self._mem_records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._start_nses: List[int] = [record[0].start_ns() for record in self._mem_records]

    def in_interval(self, start_us: float, end_us: float) -> Iterator[Any]:
        """Those from `start_us` to `end_us`, both included."""
        first = bisect.bisect_left(self._start_nses, start_us * 1000)
        return iter(self._mem_records[first:bisect.bisect_right(self._start_nses, end_us * 1000)])


_Item = TypeVar("_Item", bound=Union[FunctionEvent, FunctionEventAvg])


class EventList(List[_Item]):
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
    def _of_native(cls, make: Callable[[], Any]) -> EventList[FunctionEvent]:
        """`make` makes the list in C++, when somebody looks at this one."""
        made: Any = cls.__new__(cls)
        made._make = make
        return made

    def __getattr__(self, name: str) -> Any:
        with _making:
            make = self.__dict__.get("_make")
            if make is not None:
                self._take(make())
            elif name not in self.__dict__:
                raise AttributeError(f"'EventList' object has no attribute '{name}'")
        return getattr(self, name)

    def _take(self, native: Any) -> None:
        source = _Source(native)
        # At once, for other threads.
        self.__dict__.update(
            _use_device=native.use_device, _profile_memory=native.profile_memory, _with_flops=native.with_flops, _native=native,
            _events=native, _get=source.event, _fill=lambda: [source.event(i) for i in range(len(native))], _make=None)

    @classmethod
    def _of_averages(cls, averages: Any, events: Any) -> EventList[FunctionEventAvg]:
        made: Any = cls(use_device=events.use_device, profile_memory=events.profile_memory, with_flops=events.with_flops)
        made._native = averages
        made._events = events
        made._fill = lambda: [FunctionEventAvg._of_row(row, events.use_device) for row in averages.rows()]
        return made

    def _filled(self) -> EventList[_Item]:
        if self._fill is not None:
            fill, self._fill, self._get = self._fill, None, None
            super().extend(fill())
        return self

    def __len__(self) -> int:
        return len(self._native) if self._fill is not None else super().__len__()

    def __bool__(self) -> bool:
        return len(self) > 0

    @overload
    def __getitem__(self, index: SupportsIndex) -> _Item:
        ...

    @overload
    def __getitem__(self, index: slice) -> List[_Item]:
        ...

    def __getitem__(self, index: Any) -> Any:
        if self._get is not None and isinstance(index, int) and -len(self) <= index < len(self):
            return self._get(index % len(self))
        if self._get is not None and isinstance(index, slice):
            return [self._get(at) for at in range(*index.indices(len(self)))]
        self._filled()
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[_Item]:
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
                     group_by_overload_name: bool = False) -> EventList[FunctionEventAvg]:
        """Events added up by name and, if asked for, by shapes, by the innermost frames of their stacks, and by overload."""
        if self._native is None:
            return self._averages_of_items(group_by_input_shapes, group_by_stack_n, group_by_overload_name)
        averages = self._events.averages(group_by_input_shapes, group_by_stack_n, group_by_overload_name)
        return EventList._of_averages(averages, self._events)

    def _averages_of_items(self, by_shapes: bool, by_stack: int, by_overload: bool) -> EventList[FunctionEventAvg]:
        groups: Dict[Tuple[str, ...], FunctionEventAvg] = {}
        for item in self:
            key = [str(part) for part in (item.key, item.node_id, item.device_type, item.is_legacy, item.is_user_annotation)]
            key += [str(item.overload_name)] if by_overload else []
            key += [str(item.input_shapes)] if by_shapes else []
            key += list(item.stack or ())[:by_stack] if by_stack > 0 else []
            groups.setdefault(tuple(key), FunctionEventAvg()).add(item)
        averages: Any = EventList(groups.values(), use_device=self._use_device, profile_memory=self._profile_memory,
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
        """The sum of all self times on the CPU, in microseconds."""
        if self._native is None:
            return sum(item.self_cpu_time_total for item in self)
        return self._events.self_cpu_time_total

    def supported_export_stacks_metrics(self) -> List[str]:
        """What `export_stacks` can weigh stacks by."""
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


def _plain_list(items: List[Any], use_device: Optional[str], profile_memory: bool, with_flops: bool) -> EventList[Any]:
    return EventList(items, use_device=use_device, profile_memory=profile_memory, with_flops=with_flops)


def _changing(name: str) -> Callable[..., Any]:
    change = getattr(list, name)

    @functools.wraps(change)
    def method(self: EventList[Any], *args: Any, **kwargs: Any) -> Any:
        self._filled()
        self._native = None
        return change(self, *args, **kwargs)

    return method


def _looking(name: str) -> Callable[..., Any]:
    look = getattr(list, name)

    @functools.wraps(look)
    def method(self: EventList[Any], *args: Any, **kwargs: Any) -> Any:
        return look(self._filled(), *args, **kwargs)

    return method


for _name in ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "__setitem__", "__delitem__", "__iadd__",
              "__imul__"):
    setattr(EventList, _name, _changing(_name))
for _name in ("copy", "index", "count", "__contains__", "__reversed__", "__add__", "__mul__", "__rmul__", "__eq__", "__ne__", "__lt__",
              "__le__", "__gt__", "__ge__", "__repr__"):
    setattr(EventList, _name, _looking(_name))
EventList.__hash__ = None  # type: ignore[assignment]
