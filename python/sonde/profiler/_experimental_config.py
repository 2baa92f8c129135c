# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`experimental_config`: each field of PyTorch's is accepted; what has no effect is said."""

from __future__ import annotations

import warnings
from typing import Any, Dict, List, Tuple

# What Sonde does whether it is asked or not.
_ALWAYS = ("verbose", "profile_all_threads")
# What it does if it is asked.
_DONE = ("record_python_gc_info", "capture_overload_names", "expose_kineto_event_metadata", "trace_only",
         "enable_cuda_sync_events", "disable_external_correlation")
_DEFAULTS: Dict[str, Any] = {
    "profiler_metrics": [],
    "profiler_measure_per_kernel": False,
    "verbose": False,
    "performance_events": [],
    "enable_cuda_sync_events": False,
    "adjust_profiler_step": False,
    "disable_external_correlation": False,
    "profile_all_threads": False,
    "capture_overload_names": False,
    "record_python_gc_info": False,
    "expose_kineto_event_metadata": False,
    "custom_profiler_config": "",
    "adjust_timestamps": False,
    "trace_only": False,
}


class _ExperimentalConfig:
    """PyTorch's options that are subject to change."""

    def __init__(self, profiler_metrics: List[str] = [], profiler_measure_per_kernel: bool = False, verbose: bool = False,
                 performance_events: List[str] = [], enable_cuda_sync_events: bool = False, adjust_profiler_step: bool = False,
                 disable_external_correlation: bool = False, profile_all_threads: bool = False,
                 capture_overload_names: bool = False, record_python_gc_info: bool = False,
                 expose_kineto_event_metadata: bool = False, custom_profiler_config: str = "", adjust_timestamps: bool = False,
                 trace_only: bool = False) -> None:
        given = dict(locals())
        given.pop("self")
        self.__dict__.update(given)

    def __repr__(self) -> str:
        changed = [f"{name}={getattr(self, name)!r}" for name, value in _DEFAULTS.items() if getattr(self, name) != value]
        return f"_ExperimentalConfig({', '.join(changed)})"


def _switches(config: Any) -> Tuple[bool, bool, str]:
    """Whether events are numbered, whether exported names contain overloads, and how much of a GPU is recorded (docs/gpu.md)."""
    level = "linked"
    if getattr(config, "enable_cuda_sync_events", False):
        level = "full"
    elif getattr(config, "disable_external_correlation", False):
        level = "lean"
    return (bool(getattr(config, "expose_kineto_event_metadata", False)), bool(getattr(config, "capture_overload_names", False)), level)


def _warn_of(config: Any) -> None:
    """Says which of the fields that were set have no effect."""
    for name, default in _DEFAULTS.items():
        if name in _ALWAYS + _DONE or getattr(config, name, default) in (default, None):
            continue
        warnings.warn(f"experimental_config.{name} has no effect: Sonde does not support it", stacklevel=4)
