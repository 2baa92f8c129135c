# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts Sonde's profilers in the place of torch's, in a program that knows nothing of it."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Dict, Optional, Sequence, Tuple

# What is replaced in which module of torch, and whose it is in ours. record_function stays torch's: Sonde records it, and
# TorchScript knows no other. So does ProfilerActivity, which Sonde's profilers take.
_REPLACED: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "torch.profiler": ("sonde.profiler", ("profile", "_KinetoProfile", "schedule", "supported_activities", "ProfilerAction",
                                          "tensorboard_trace_handler", "ExecutionTraceObserver")),
    "torch.profiler.profiler": ("sonde.profiler", ("profile", "_KinetoProfile", "schedule", "supported_activities", "ProfilerAction",
                                                   "tensorboard_trace_handler", "ExecutionTraceObserver")),
    "torch.autograd.profiler": ("sonde.autograd.profiler", ("profile", "emit_nvtx", "emit_itt", "load_nvprof")),
}


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


def _replace_what_is_loaded() -> None:
    for name in _REPLACED:
        if name in sys.modules:
            _replace(sys.modules[name])


class _Loader(importlib.abc.Loader):
    """torch's own loader, and then ours."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        # While torch itself is being imported, its modules take each other's names: they come last, with torch.
        torch = sys.modules.get("torch")
        if module is torch or not getattr(getattr(torch, "__spec__", None), "_initializing", False):
            _replace_what_is_loaded()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None) -> Any:
        if name not in _REPLACED and name != "torch":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader)
                return spec
        return None


def stand_in() -> None:
    """From now on, programs that ask torch for a profiler get Sonde's."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    _replace_what_is_loaded()
