# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which `nn.Module` runs: torch's hooks, installed only while a profiler with `with_modules` records."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any, Dict, List, NamedTuple, Optional

from sonde import _native
from sonde._tracing import is_traced


class _Place(NamedTuple):
    """A module at its place in a network."""

    number: int
    path: str
    span: str


class _Call(NamedTuple):
    module: Any
    place: _Place
    range: Any
    frame: int  # the id of the frame that called the hook


class _Followed(threading.local):
    """The calls that are open on a thread."""

    def __init__(self) -> None:
        self.calls: List[_Call] = []


def _name_in(parent: Any, module: Any) -> Optional[str]:
    return next((name for name, found in parent.named_modules() if found is module and name), None)


class _Follower:
    def __init__(self) -> None:
        self._profilers: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._lock = threading.Lock()
        self._handles: List[Any] = []
        self._open = _Followed()
        # By module, then by the path around it: a module may be used in several places.
        self._places: "weakref.WeakKeyDictionary[Any, Dict[str, _Place]]" = weakref.WeakKeyDictionary()

    def follow(self, profiler: Any, is_recording: bool) -> None:
        torch_modules = sys.modules.get("torch.nn.modules.module")
        with self._lock:
            (self._profilers.add if is_recording else self._profilers.discard)(profiler)
            if torch_modules is None or bool(self._profilers) == bool(self._handles):
                return
            for handle in self._handles:
                handle.remove()
            self._handles = self._hook(torch_modules) if self._profilers else []

    def _hook(self, torch_modules: Any) -> List[Any]:
        before = torch_modules.register_module_forward_pre_hook(self._begin)
        try:
            # Also after an exception.
            after = torch_modules.register_module_forward_hook(self._end, always_call=True)
        except TypeError:
            after = torch_modules.register_module_forward_hook(self._end)
        return [before, after]

    def _begin(self, module: Any, inputs: Any) -> None:
        if is_traced():
            return
        frame = sys._getframe(1)
        self._end_abandoned(frame)
        place = self._place(module)
        self._open.calls.append(_Call(module, place, _native.module_begin(place.number, place.span), id(frame)))

    def _end_abandoned(self, frame: Any) -> None:
        """torch 1 does not say when a call ends with an exception: then its frame is not among ours."""
        calls = self._open.calls
        while calls:
            around = frame.f_back
            while around is not None and id(around) != calls[-1].frame:
                around = around.f_back
            if around is not None:
                return
            self._close(calls.pop())

    @staticmethod
    def _close(call: _Call) -> None:
        if call.range is not None:
            call.range.end()

    def _end(self, module: Any, inputs: Any, output: Any) -> None:
        if is_traced():
            return
        calls = self._open.calls
        if not any(call.module is module for call in calls):
            return  # it began before the hooks were installed
        # Calls that ended with an exception are still open.
        while True:
            call = calls.pop()
            self._close(call)
            if call.module is module:
                return

    def _place(self, module: Any) -> _Place:
        around = self._open.calls[-1] if self._open.calls else None
        known = self._places.setdefault(module, {})
        key = around.place.path if around is not None else ""
        place = known.get(key)
        if place is None or place.number == 0:
            place = known[key] = self._new_place(module, around)
        return place

    def _new_place(self, module: Any, around: Optional[_Call]) -> _Place:
        kind = type(module).__name__
        name = (_name_in(around.module, module) if around is not None else None) or kind
        path = name if around is None else f"{around.place.path}.{name}"
        number = _native.module_number(around.place.number if around is not None else 0, name, kind)
        return _Place(number, path, f"nn.Module: {path}")


_follower = _Follower()


def follow_modules(profiler: Any, is_recording: bool) -> None:
    _follower.follow(profiler, is_recording)
