# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tells when torch has been imported. Needs nothing of the package, so that a program without torch need not load it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Callable, Optional, Sequence

# Modules of torch that another module may replace.
_WATCHED = ("torch", "torch.profiler", "torch.profiler.profiler", "torch.autograd.profiler")


class _Loader(importlib.abc.Loader):
    """torch's own loader, and then the call."""

    def __init__(self, loader: Any, call: Callable[[], None]) -> None:
        self._loader = loader
        self._call = call

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        # While torch itself is being imported, its modules take each other's names: they come last, with torch.
        torch = sys.modules.get("torch")
        if module is torch or not getattr(getattr(torch, "__spec__", None), "_initializing", False):
            self._call()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None) -> Any:
        if name not in _WATCHED:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, self._call)
                return spec
        return None


def when_torch_is_there(call: Callable[[], None]) -> None:
    """Calls it now if torch has been imported, and whenever one of the watched modules is imported later."""
    sys.meta_path.insert(0, _Finder(call))
    if "torch" in sys.modules:
        call()
