# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's tree of events: operators, ranges, calls of Python functions, allocations, and work under the call that launched it."""

from __future__ import annotations

import enum
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple


class EventType(enum.Enum):
    TorchOp = 0
    Backend = 1
    Allocation = 2
    OutOfMemory = 3
    PyCall = 4
    PyCCall = 5
    Kineto = 6
    PythonGC = 7


class FrameState(NamedTuple):
    """Where a Python function begins."""

    line_number: int
    file_name: str
    function_name: str


class ModuleInfo(NamedTuple):
    cls_name: str
    number: int


class TorchOpFields(NamedTuple):
    name: str
    scope: int
    sequence_number: int


class AllocationFields(NamedTuple):
    ptr: int
    alloc_size: int
    total_allocated: int
    total_reserved: int
    device: Tuple[str, int]


class PyCallFields(NamedTuple):
    callsite: FrameState
    caller: Optional[FrameState]
    module: Optional[ModuleInfo]


class PyCCallFields(NamedTuple):
    caller: Optional[FrameState]


class KinetoFields(NamedTuple):
    activity_type: str


class ProfilerEvent:
    """A node of the tree."""

    def __init__(self, name: str, tag: EventType, start_ns: int, end_ns: int, thread: int) -> None:
        self.name = name
        self.tag = tag
        self.start_time_ns = start_ns
        self.end_time_ns = end_ns
        self.start_tid = thread
        self.correlation_id = 0
        self.parent: Optional[ProfilerEvent] = None
        self.children: List[ProfilerEvent] = []
        self.extra_fields: Any = None

    @property
    def duration_time_ns(self) -> int:
        return self.end_time_ns - self.start_time_ns

    @property
    def typed(self) -> Tuple[EventType, Any]:
        return self.tag, self.extra_fields

    @property
    def id(self) -> int:
        """A number that no other event of the tree has."""
        return id(self)

    def __repr__(self) -> str:
        return f"<ProfilerEvent {self.tag.name} {self.name}: {len(self.children)} children>"


_TAGS = {"cpu_op": EventType.TorchOp, "user_annotation": EventType.TorchOp, "scope": EventType.TorchOp, "step": EventType.TorchOp}
_FRAME = re.compile(r"(.*)\((\d+)\): (.*)", re.DOTALL)
_MODULE = re.compile(r"nn\.Module: (.*)_(\d+)")


def _tag(kind: str, name: str) -> EventType:
    if kind != "python_function":
        return _TAGS.get(kind, EventType.Kineto)
    if name == "Python GC":
        return EventType.PythonGC
    return EventType.PyCCall if name.startswith("<") else EventType.PyCall


def _frame(name: str) -> FrameState:
    found = _FRAME.fullmatch(name)
    return FrameState(int(found[2]), found[1], found[3]) if found else FrameState(0, "", name)


def _caller(event: ProfilerEvent) -> Optional[FrameState]:
    around = event.parent
    while around is not None and around.tag != EventType.PyCall:
        around = around.parent
    return None if around is None else _frame(around.name)


def _call_fields(event: ProfilerEvent) -> Any:
    if event.tag == EventType.PyCCall:
        return PyCCallFields(_caller(event))
    module = _MODULE.fullmatch(event.name)
    return PyCallFields(_frame(event.name), _caller(event), ModuleInfo(module[1], int(module[2])) if module else None)


class _Tree:
    def __init__(self, native: Any) -> None:
        self._spans = native.table("spans")
        self._tracks = native.table("tracks").column("id")
        self._allocations = native.table("allocations")
        self._nodes: List[ProfilerEvent] = []
        self._add_spans()
        self._in = self._nodes[:]
        self._parents()
        self._add_allocations()
        for event in self._nodes:
            event.children.sort(key=lambda child: child.start_time_ns)
            if event.tag in (EventType.PyCall, EventType.PyCCall):
                event.extra_fields = _call_fields(event)

    def roots(self) -> List[ProfilerEvent]:
        return sorted((event for event in self._nodes if event.parent is None), key=lambda event: event.start_time_ns)

    def _add_spans(self) -> None:
        column = {name: self._spans.column(name) for name in ("name", "kind", "start_ns", "duration_ns", "track", "external_id",
                                                               "correlation", "scope", "sequence_number")}
        scopes = {"function": 0, "backward_function": 1, "torchscript_function": 2, "user_scope": 7}
        for row in range(len(self._spans)):
            kind, name, start = column["kind"][row], column["name"][row] or "", column["start_ns"][row]
            track = column["track"][row]
            event = ProfilerEvent(name, _tag(kind, name), start, start + column["duration_ns"][row],
                                  -1 if track is None else self._tracks[track])
            event.correlation_id = column["external_id"][row] or column["correlation"][row] or 0
            number = column["sequence_number"][row]
            if event.tag == EventType.TorchOp:
                event.extra_fields = TorchOpFields(name, scopes.get(column["scope"][row], 0), -1 if number is None else number)
            elif event.tag == EventType.Kineto:
                event.extra_fields = KinetoFields(kind)
            self._nodes.append(event)

    def _put(self, event: ProfilerEvent, around: Optional[int]) -> None:
        if around is not None:
            event.parent = self._in[around]
            event.parent.children.append(event)

    def _parents(self) -> None:
        parents, launches = self._spans.column("parent"), self._spans.column("launch")
        for row, event in enumerate(self._in):
            parent = parents[row]
            self._put(event, launches[row] if parent is None else parent)

    def _add_allocations(self) -> None:
        column: Dict[str, Any] = {name: self._allocations.column(name) for name in self._allocations.columns}
        for row in range(len(self._allocations)):
            is_failed = bool((column["flags"][row] or 0) & 1)
            time, track = column["time_ns"][row], column["track"][row]
            event = ProfilerEvent("[OutOfMemory]" if is_failed else "[memory]",
                                  EventType.OutOfMemory if is_failed else EventType.Allocation, time, time,
                                  -1 if track is None else self._tracks[track])
            event.extra_fields = AllocationFields(column["address"][row] or 0, column["bytes"][row], column["total_allocated_bytes"][row] or 0,
                                                  column["total_reserved_bytes"][row] or 0,
                                                  (column["device_type"][row], column["device_index"][row]))
            self._nodes.append(event)
            self._put(event, column["span"][row])


def event_tree(native: Any) -> List[ProfilerEvent]:
    return _Tree(native).roots()
