# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch is told, if it is loaded."""

from __future__ import annotations

import sys
import weakref
from typing import Any

_recording: "weakref.WeakSet[Any]" = weakref.WeakSet()


def tell_torch(profiler: Any, is_recording: bool) -> None:
    """Parts of torch write ranges only while a flag says that it is profiled: compiled graphs, optimizers, data pipes."""
    (_recording.add if is_recording else _recording.discard)(profiler)
    of_torch: Any = sys.modules.get("torch.autograd.profiler")
    if of_torch is None or not hasattr(of_torch, "_is_profiler_enabled"):
        return
    setter = getattr(of_torch, "_set_is_profiler_enabled", None)
    if setter is not None:
        setter(len(_recording) > 0)
    else:
        of_torch._is_profiler_enabled = len(_recording) > 0
