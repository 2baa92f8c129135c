# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution traces, in the format of PyTorch's observer."""

from __future__ import annotations

import os
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
        return self._native.is_registered

    def is_running(self) -> bool:
        return self._native.is_running

    @property
    def _execution_trace_running(self) -> bool:
        """PyTorch's name of it, which programs ask for."""
        return self._native.is_running

    def start(self) -> None:
        self._native.start()

    def stop(self) -> None:
        self._native.stop()

    def unregister_callback(self) -> None:
        """Stops and finishes the file."""
        self._native.unregister_callback()

    def cleanup(self) -> None:
        self._native.cleanup()

    def get_output_file_path(self) -> Optional[str]:
        return self._native.path or None

    def set_extra_resource_collection(self, val: bool) -> None:
        """Accepted; Sonde collects no resources beside the file."""
        self.extra_resources_collection = bool(val)
        if val:
            warnings.warn("set_extra_resource_collection has no effect: Sonde writes no files of kernels", stacklevel=2)

    def get_resources_dir(self, can_create: bool = False) -> Optional[str]:
        return None

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
        return ExecutionTraceObserver().register_callback(path)

    def __del__(self) -> None:
        native: Any = getattr(self, "_native", None)
        if native is not None:
            native.cleanup()
