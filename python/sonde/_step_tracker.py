# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Dict


class KinetoStepTracker:
    """Counts the steps of a process. Several parts may count; the largest count is the step."""

    _current_step = 0
    _step_dict: Dict[str, int] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begins to count for `requester`, from the current step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Ends to count for `requester`; whether it was counted."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Counts one step for `requester`. Returns the step of the process."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        new_step = max(cls._step_dict.values())
        if new_step > cls._current_step:
            delta = new_step - cls._current_step
            if delta > 1:
                warnings.warn(f"Profiler step count has increased more than 1 - current_step = {cls._current_step} step dict =  {cls._step_dict}",
                              stacklevel=2)
            cls._current_step = new_step
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The step of the process."""
        return cls._current_step
