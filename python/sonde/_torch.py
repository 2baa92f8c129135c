# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notifies torch, if it is loaded."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from sonde._record_function import _RecordFunctionFast

_recording: "weakref.WeakSet[Any]" = weakref.WeakSet()


# What is replaced in torch while Sonde records: the module, the name in it, and what was there.
_replaced: Any = []


def _replace(module: Any, name: str, ours: Any) -> None:
    its_own = getattr(module, name, None)
    if its_own is not None:
        _replaced.append((module, name, its_own))
        setattr(module, name, ours)


def _fast_range(its_own: Any, is_profiled: Any) -> Any:
    """torch's own fast range does nothing unless a profiler of torch's runs."""

    def fast_range(*arguments: Any, **named: Any) -> Any:
        # torch's own takes no None for what is not given.
        return (its_own if is_profiled() else _RecordFunctionFast)(*arguments, **named)

    return fast_range


def _answer_for_torch(is_recording: bool) -> None:
    autograd: Any = sys.modules.get("torch.autograd")
    if autograd is None or is_recording == bool(_replaced):
        return
    if not is_recording:
        while _replaced:
            setattr(*_replaced.pop())
        return
    is_profiled = getattr(autograd, "_profiler_enabled", None)
    if is_profiled is None:
        return
    # Data pipes ask this function, which knows of torch's own profilers only.
    _replace(autograd, "_profiler_enabled", lambda: True)
    # Compiled graphs and kernels of Triton mark themselves with these.
    of_torch: Any = getattr(sys.modules.get("torch._C"), "_profiler", None)
    its_own = getattr(of_torch, "_RecordFunctionFast", None)
    if its_own is not None:
        _replace(of_torch, "_RecordFunctionFast", _fast_range(its_own, is_profiled))


def tell_torch(profiler: Any, is_recording: bool) -> None:
    """Sets torch's flag. Compiled graphs, optimisers and data pipes write ranges only while it says that torch is profiled."""
    (_recording.add if is_recording else _recording.discard)(profiler)
    _answer_for_torch(len(_recording) > 0)
    of_torch: Any = sys.modules.get("torch.autograd.profiler")
    if of_torch is None or not hasattr(of_torch, "_is_profiler_enabled"):
        return
    setter = getattr(of_torch, "_set_is_profiler_enabled", None)
    if setter is not None:
        setter(len(_recording) > 0)
    else:
        of_torch._is_profiler_enabled = len(_recording) > 0
