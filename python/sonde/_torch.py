# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notifies torch, if it is loaded."""

from __future__ import annotations

import sys
import weakref
from typing import Any

_recording: "weakref.WeakSet[Any]" = weakref.WeakSet()


def tell_torch(profiler: Any, is_recording: bool) -> None:
    """Sets torch's flag. Compiled graphs, optimisers and data pipes write ranges only while it says that torch is profiled."""
    (_recording.add if is_recording else _recording.discard)(profiler)
    of_torch: Any = sys.modules.get("torch.autograd.profiler")
    if of_torch is None or not hasattr(of_torch, "_is_profiler_enabled"):
        return
    setter = getattr(of_torch, "_set_is_profiler_enabled", None)
    if setter is not None:
        setter(len(_recording) > 0)
    else:
        of_torch._is_profiler_enabled = len(_recording) > 0
