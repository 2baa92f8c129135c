# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of Python functions, and garbage collection, while a profiler that asks for them records."""

from __future__ import annotations

import functools
import gc
import operator
import os
import site
import sys
import sysconfig
import threading
import time
import warnings
import weakref
from typing import Any, Dict, List, Optional

from sonde import _native

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
# What these do is no part of the program.
_HOOKS = [_OWN + name for name in ("_modules.py", "_tensors.py", "_tracing.py")]


def _prefixes() -> List[str]:
    """What PyTorch leaves out of the names of files: the folders of packages and of the program."""
    folders = list(sys.path) + [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getuserbase() or ""]
    whole = {os.path.abspath(folder) + os.sep for folder in folders if folder}
    return sorted(whole - {os.sep}, reverse=True)


def _call_of_modules() -> Any:
    """The code of torch.nn.Module.__call__; None if torch is not loaded."""
    of_torch = sys.modules.get("torch.nn.modules.module")
    return None if of_torch is None else getattr(of_torch.Module.__call__, "__code__", None)


class _Switch:
    """On while any of its profilers records."""

    def __init__(self) -> None:
        self._profilers: "weakref.WeakSet[Any]" = weakref.WeakSet()

    def turn(self, profiler: Any, is_on: bool) -> None:
        was_on = bool(self._profilers)
        (self._profilers.add if is_on else self._profilers.discard)(profiler)
        if bool(self._profilers) == was_on:
            return
        self._begin() if is_on else self._end()

    def _begin(self) -> None:
        ...

    def _end(self) -> None:
        ...


class _Hook:
    """Python's profile hook, which one tool can use."""

    name = "Python's profile hook"

    _before: Any = None

    def is_free(self) -> bool:
        return sys.getprofile() is None

    def begin(self) -> None:
        # Threads that begin from now on come here first.
        self._before = getattr(threading, "_profile_hook", None)
        threading.setprofile(lambda *event: _native.hook_here())
        _native.hook_everywhere(True)

    def end(self) -> None:
        _native.hook_everywhere(False)
        threading.setprofile(self._before)


class _Monitor:
    """sys.monitoring, from 3.12 on: several tools at once, on all threads."""

    name = "all of sys.monitoring"

    def __init__(self) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        of = self._monitoring.events
        self._callbacks: Dict[int, Any] = {}
        for events, callback in (((of.PY_START, of.PY_RESUME, of.PY_THROW), _native.monitor_begin),
                                 ((of.PY_RETURN, of.PY_YIELD, of.PY_UNWIND), _native.monitor_end),
                                 ((of.CALL,), _native.monitor_call), ((of.C_RETURN, of.C_RAISE), _native.monitor_called)):
            self._callbacks.update(dict.fromkeys(events, callback))

    def _free_tool(self) -> Optional[int]:
        # First the number for profilers, then those for nothing in particular.
        return next((tool for tool in (self._monitoring.PROFILER_ID, 3, 4) if self._monitoring.get_tool(tool) is None), None)

    def is_free(self) -> bool:
        return self._free_tool() is not None

    def begin(self) -> None:
        self._tool = self._free_tool()
        self._monitoring.use_tool_id(self._tool, "sonde")
        for event, callback in self._callbacks.items():
            self._monitoring.register_callback(self._tool, event, callback)
        # C_RETURN and C_RAISE come with CALL.
        told = set(self._callbacks) - {self._monitoring.events.C_RETURN, self._monitoring.events.C_RAISE}
        self._monitoring.set_events(self._tool, functools.reduce(operator.or_, told))

    def end(self) -> None:
        self._monitoring.set_events(self._tool, 0)
        for event in self._callbacks:
            self._monitoring.register_callback(self._tool, event, None)
        self._monitoring.free_tool_id(self._tool)


def _nothing() -> None:
    ...


def _nanoseconds_a_call() -> float:
    """Of a function of this package, which is followed as others are but not recorded."""
    rounds = []
    for _ in range(5):
        began = time.perf_counter_ns()
        for _ in range(50):
            _nothing()
        rounds.append((time.perf_counter_ns() - began) / 50)
    return sorted(rounds)[2]


class _Calls(_Switch):
    _teller: Any = None
    _alone_ns = 0.0  # what a call takes that is not followed

    def _after_fork(self) -> None:
        if self._profilers:
            _native.calls_forked()

    def _begin(self) -> None:
        if self._teller is None:
            self._teller = _Monitor() if hasattr(sys, "monitoring") else _Hook()
            os.register_at_fork(after_in_child=self._after_fork)
        if not self._teller.is_free():
            warnings.warn(f"calls are not recorded: other tools use {self._teller.name}", stacklevel=5)
            self._profilers.clear()
            return
        self._alone_ns = _nanoseconds_a_call()
        _native.calls_start(sys._getframe(), _prefixes(), _OWN, _HOOKS, _call_of_modules())
        self._teller.begin()

    def _end(self) -> None:
        self._teller.end()
        _native.calls_stop()

    def tell_cost(self) -> None:
        if self._profilers:
            _native.tell_path_cost("calls of Python functions", _nanoseconds_a_call() - self._alone_ns)


class _Collections(_Switch):
    """Garbage collection as spans named `Python GC`."""

    _is_open = False

    def _begin(self) -> None:
        gc.callbacks.append(self._tell)

    def _end(self) -> None:
        gc.callbacks.remove(self._tell)

    def _tell(self, phase: str, info: Dict[str, int]) -> None:
        if phase == "start":
            self._is_open = _native.call_begin("Python GC")
        elif self._is_open:
            self._is_open = False
            _native.call_end()


_calls = _Calls()
_collections = _Collections()


def follow_calls(profiler: Any, is_recording: bool) -> None:
    _calls.turn(profiler, is_recording)


def tell_cost_of_calls() -> None:
    """For the recording; call it before that ends."""
    _calls.tell_cost()


def follow_collections(profiler: Any, is_recording: bool) -> None:
    _collections.turn(profiler, is_recording)
