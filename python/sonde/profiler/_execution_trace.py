# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution traces, in the format of PyTorch's observer."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from abc import ABC, abstractmethod
from typing import Any, Optional

from sonde import _native


class _ITraceObserver(ABC):
    """An object that a profiler starts with each recorded cycle and stops at its end."""

    @abstractmethod
    def start(self) -> None:
        ...

    @abstractmethod
    def stop(self) -> None:
        ...

    @abstractmethod
    def cleanup(self) -> None:
        ...


class ExecutionTraceObserver(_ITraceObserver):
    """Writes every operator with the tensors that it read and made.

        observer = ExecutionTraceObserver().register_callback("step.et.json")
        with profile(execution_trace_observer=observer):
            train_step()
    """

    def __init__(self) -> None:
        self._native = _native.observer()
        self.extra_resources_collection = False

    def register_callback(self, output_file_path: str) -> ExecutionTraceObserver:
        """Opens the file; compressed if its name ends in `.gz`."""
        _native.attach_torch()
        if not self._native.is_registered:
            self._native.register_callback(os.fspath(output_file_path))
        return self

    @property
    def is_registered(self) -> bool:
        """Whether there is a file to write to."""
        return self._native.is_registered

    def is_running(self) -> bool:
        """Whether operators are written now."""
        return self._native.is_running

    @property
    def _execution_trace_running(self) -> bool:
        """PyTorch's name of it, which programs ask for."""
        return self._native.is_running

    def start(self) -> None:
        """Begins to write operators. A profiler that has the observer does this."""
        self._native.start()

    def stop(self) -> None:
        """Pauses."""
        self._native.stop()

    def unregister_callback(self) -> None:
        """Stops and finishes the file."""
        self._keep_generated_code()
        self._native.unregister_callback()

    def cleanup(self) -> None:
        """The same; a profiler calls it when it ends."""
        self._keep_generated_code()
        self._native.cleanup()

    def _keep_generated_code(self) -> None:
        """Copies the modules that torch.compile has generated: they contain the kernels of Triton."""
        cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
        if not self.extra_resources_collection or not self._native.is_registered or cache is None:
            return
        folder = self.get_resources_dir(can_create=True)
        files = {getattr(module, "__file__", None) for module in cache.modules}
        for path in sorted(path for path in files if path):
            try:
                shutil.copyfile(path, os.path.join(folder or "", os.path.basename(path)))
            except OSError as error:
                warnings.warn(f"{path} is not kept beside the execution trace: {error}", stacklevel=3)

    def get_output_file_path(self) -> Optional[str]:
        """The file; None if there is none."""
        return self._native.path or None

    def set_extra_resource_collection(self, val: bool) -> None:
        """Makes a folder beside the file, for code that torch.compile generates and for data of tensors."""
        self.extra_resources_collection = bool(val)
        if val:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create: bool = False) -> Optional[str]:
        """The folder; None if there is none."""
        path = self.get_output_file_path()
        if path is None or not self.extra_resources_collection:
            return None
        return self.get_resources_dir_for_et_path(path, create_dir=bool(can_create))

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: str, create_dir: bool = False) -> Optional[str]:
        """`step_resources` of `step.json`."""
        base, dot, _ = trace_path.rpartition(".json")
        folder = (base if dot else trace_path) + "_resources"
        try:
            if create_dir:
                os.makedirs(folder, exist_ok=True)
        except OSError as error:
            warnings.warn(f"Execution trace exception when creating {folder}: {error}", stacklevel=3)
        return folder if os.path.isdir(folder) else None

    @staticmethod
    def build_execution_trace_obs_from_env() -> Optional[ExecutionTraceObserver]:
        """An observer that writes to a temporary file, if ENABLE_PYTORCH_EXECUTION_TRACE is 1."""
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        try:
            handle, path = tempfile.mkstemp(suffix=".et.json")
            os.close(handle)
        except OSError as error:
            warnings.warn(f"Execution trace will not be recorded. Exception on creating default temporary file: {error}", stacklevel=2)
            return None
        observer = ExecutionTraceObserver().register_callback(path)
        observer.set_extra_resource_collection(os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "0") == "1")
        return observer

    def __del__(self) -> None:
        native: Any = getattr(self, "_native", None)
        if native is not None:
            native.cleanup()
