# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to record, and when."""

from __future__ import annotations

import enum
import sys
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

from sonde import _native


class ProfilerActivity(enum.Enum):
    """The numbers are PyTorch's."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Skips `skip_first` steps, then repeats: `wait` steps without recording, `warmup` steps for preparation, `active` recorded
    steps. `repeat` is the number of such cycles, 0 for no end. With `skip_first_wait` the first cycle has no `wait`."""
    values = (wait, warmup, active, repeat, skip_first, skip_first_wait)
    try:
        _native.check_schedule(*values)
    except ValueError as error:
        raise AssertionError(f"Invalid profiler schedule arguments: {error}") from None

    def schedule_fn(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        return ProfilerAction(_native.schedule_action(step, *values))

    return schedule_fn


def _attach_sources() -> None:
    """Prepares to record torch and CUDA if this process has loaded them."""
    _native.attach_torch()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        _native.attach_cuda()


def supported_activities() -> Set[ProfilerActivity]:
    """What can be recorded in this process."""
    _attach_sources()
    return {ProfilerActivity(number) for number in _native.supported_activities()}


def _activity(item: Any) -> ProfilerActivity:
    """Sonde's, torch's own, or a number."""
    if isinstance(item, ProfilerActivity):
        return item
    name = getattr(item, "name", None)
    if isinstance(name, str) and name in ProfilerActivity.__members__:
        return ProfilerActivity[name]
    raise TypeError(f"activities must be ProfilerActivity values or dicts of them, not {type(item).__name__}: {item!r}")


def _activities(given: Iterable[Any]) -> Dict[ProfilerActivity, Optional[List[str]]]:
    """Each activity, and the types of it that were named."""
    found: Dict[ProfilerActivity, Optional[List[str]]] = {}
    for item in given:
        for one in item if isinstance(item, dict) else (item,):
            activity = _activity(one)
            if activity in found:
                raise ValueError(f"{activity} is specified more than once")
            found[activity] = list(item[one]) if isinstance(item, dict) else None
    return found


_RUNTIMES = ("XPU_RUNTIME", "XPU_DRIVER", "CUDA_RUNTIME", "CUDA_DRIVER", "PRIVATEUSE1_RUNTIME", "PRIVATEUSE1_DRIVER")
_COPIES = ("GPU_MEMCPY", "GPU_MEMSET")
# The types that PyTorch knows of each activity.
_TYPES: Dict[ProfilerActivity, Tuple[str, ...]] = {
    ProfilerActivity.CPU: ("CPU_OP", "CPU_INSTANT_EVENT", "USER_ANNOTATION", "EXTERNAL_CORRELATION", "PYTHON_FUNCTION", *_RUNTIMES),
    ProfilerActivity.CUDA: (*_COPIES, "GPU_USER_ANNOTATION", "CONCURRENT_KERNEL", "CUDA_RUNTIME", "CUDA_DRIVER", "OVERHEAD"),
    ProfilerActivity.XPU: (*_COPIES, "CONCURRENT_KERNEL", "XPU_RUNTIME", "XPU_DRIVER"),
    ProfilerActivity.MTIA: ("MTIA_CCP_EVENTS", "MTIA_RUNTIME", "MTIA_INSIGHT", "MTIA_COUNTERS"),
    ProfilerActivity.HPU: ("HPU_OP",),
    ProfilerActivity.PrivateUse1: (*_COPIES, "GPU_USER_ANNOTATION", "CONCURRENT_KERNEL", "PRIVATEUSE1_RUNTIME", "PRIVATEUSE1_DRIVER"),
}


# Kinds of spans (docs/trace-model.md) where they are not called like the type.
_KINDS_OF_TYPE = {"CONCURRENT_KERNEL": ("kernel",), "USER_ANNOTATION": ("user_annotation", "scope", "step", "async")}
# Kinds that PyTorch has no type for; they come with the activity as a whole.
_MORE_KINDS = {ProfilerActivity.CPU: ("other", "Trace", "glow_runtime"),
               ProfilerActivity.CUDA: ("cuda_sync", "cuda_event", "collective_comm", "cuda_profiler_range", "hardware_counters"),
               ProfilerActivity.XPU: ("xpu_sync", "xpu_scope_profiler"), ProfilerActivity.MTIA: ("mtia_workloadd",)}


def _kinds(activities: Dict[ProfilerActivity, Optional[List[str]]]) -> Optional[List[str]]:
    """The kinds of spans that belong to these types of activities; None if no type was named."""
    if all(types is None for types in activities.values()):
        return None
    kinds: Set[str] = set()
    for activity, types in activities.items():
        for one in _TYPES[activity] if types is None else types:
            kinds.update(_KINDS_OF_TYPE.get(one, (one.lower(),)))
        kinds.update(_MORE_KINDS.get(activity, ()) if types is None else ())
    return sorted(kinds & _ALL_KINDS)


_ALL_KINDS = {kind for types in _TYPES.values() for one in types for kind in _KINDS_OF_TYPE.get(one, (one.lower(),))}
_ALL_KINDS.update(kind for kinds in _MORE_KINDS.values() for kind in kinds)


def _check_types(filters: Dict[ProfilerActivity, List[str]]) -> None:
    for activity, names in filters.items():
        for name in names:
            if name not in _TYPES[activity]:
                raise RuntimeError(f"Unknown or non-member activity type name '{name}' for {activity}; there are: "
                                   + ", ".join(_TYPES[activity]))


def _action_number(action: Any) -> int:
    """Takes Sonde's or torch's own action."""
    value = getattr(action, "value", action)
    if isinstance(value, int) and 0 <= value <= ProfilerAction.DEVICE_STOPPED.value:
        if value == ProfilerAction.DEVICE_STOPPED.value:
            raise ValueError("a schedule must not return DEVICE_STOPPED, which is set internally")
        return value
    raise ValueError(f"a schedule must return a ProfilerAction, not {action!r}")
