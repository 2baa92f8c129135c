# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notifies torch, if it is loaded."""

from __future__ import annotations

import sys
import weakref
from typing import Any

_recording: "weakref.WeakSet[Any]" = weakref.WeakSet()


_its_own: Any = None


def _answer_for_torch(is_recording: bool) -> None:
    """Data pipes ask a function, which knows of torch's own profilers only."""
    global _its_own
    autograd: Any = sys.modules.get("torch.autograd")
    if autograd is None or not hasattr(autograd, "_profiler_enabled") or is_recording == (_its_own is not None):
        return
    if is_recording:
        _its_own, autograd._profiler_enabled = autograd._profiler_enabled, lambda: True
    else:
        autograd._profiler_enabled, _its_own = _its_own, None


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
