# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts Sonde's profilers in the place of torch's, in a program that knows nothing of it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Dict, Tuple

from sonde._torch_import import when_torch_is_there

# What is replaced in which module of torch, and whose it is in ours. record_function stays torch's: Sonde records it, and
# TorchScript knows no other. So does ProfilerActivity, which Sonde's profilers take.
_REPLACED: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "torch.profiler": ("sonde.profiler", ("profile", "_KinetoProfile", "schedule", "supported_activities", "ProfilerAction",
                                          "tensorboard_trace_handler", "ExecutionTraceObserver")),
    "torch.profiler.profiler": ("sonde.profiler", ("profile", "_KinetoProfile", "schedule", "supported_activities", "ProfilerAction",
                                                   "tensorboard_trace_handler", "ExecutionTraceObserver")),
    "torch.autograd.profiler": ("sonde.autograd.profiler", ("profile", "emit_nvtx", "emit_itt", "load_nvprof")),
}
_is_asked = False


def _replace(module: ModuleType) -> None:
    ours, names = _REPLACED[module.__name__]
    try:
        replacement = importlib.import_module(ours)
    except ImportError as error:
        print(f"sonde: {module.__name__} stays torch's own: {error}", file=sys.stderr)
        return
    for name in names:
        if hasattr(module, name):
            setattr(module, name, getattr(replacement, name))


def replace_what_is_loaded() -> None:
    for name in _REPLACED:
        if name in sys.modules:
            _replace(sys.modules[name])


def stand_in() -> None:
    """From now on, programs that ask torch for a profiler get Sonde's."""
    global _is_asked
    if not _is_asked:
        _is_asked = True
        when_torch_is_there(replace_what_is_loaded)
