# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of Python functions, and garbage collection, while a profiler that asks for them records."""

from __future__ import annotations

import gc
import os
import site
import sys
import sysconfig
import threading
import warnings
import weakref
from typing import Any, Dict, List

from sonde import _native

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _prefixes() -> List[str]:
    """What PyTorch leaves out of the names of files: the folders of packages and of the program."""
    folders = list(sys.path) + [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getuserbase() or ""]
    whole = {os.path.abspath(folder) + os.sep for folder in folders if folder}
    return sorted(whole - {os.sep}, reverse=True)


def _frames_here() -> List[Any]:
    """The frames that run on this thread, the outermost first; the last is our caller."""
    frames = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


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


class _Calls(_Switch):
    _hook_before: Any = None

    def _begin(self) -> None:
        if sys.getprofile() is not None:
            warnings.warn("calls are not recorded: another tool uses Python's profile hook", stacklevel=5)
            self._profilers.clear()
            return
        # Threads that begin from now on come here first.
        self._hook_before = getattr(threading, "_profile_hook", None)
        threading.setprofile(lambda *event: _native.calls_here())
        _native.calls_start(_frames_here(), _prefixes(), _OWN, _call_of_modules())

    def _end(self) -> None:
        _native.calls_stop()
        threading.setprofile(self._hook_before)  # type: ignore[arg-type]


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


def follow_collections(profiler: Any, is_recording: bool) -> None:
    _collections.turn(profiler, is_recording)
