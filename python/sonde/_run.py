# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `sonde run` asks of a Python program: its calls, its modules, what its tensors are for. The recording is that of the agent in
the process, which decides when it begins and ends."""

from __future__ import annotations

import atexit
from typing import Container

from sonde import _native
from sonde._calls import follow_calls
from sonde._modules import follow_modules
from sonde._stand_in import replace_what_is_loaded
from sonde._tensors import finish_tensors, follow_tensors
from sonde._torch import tell_torch


class _Program:
    """Follows the whole program, in place of a profiler."""

    follows_torch = False


_program = _Program()


def follow_torch(wanted: Container[str]) -> None:
    """Call it whenever parts of torch have been imported."""
    if "stand-in" in wanted:
        replace_what_is_loaded()
    if _program.follows_torch:
        return
    _program.follows_torch = True
    # The recording began with torch's libraries, before this package was loaded.
    _native.ranges_have("stacks" in wanted, "shapes" in wanted)
    if "calls" in wanted or "modules" in wanted:
        tell_torch(_program, True)
    if "modules" in wanted:
        follow_modules(_program, True)
    if "tensors" in wanted:
        follow_tensors(_program, True)
        atexit.register(finish_tensors)
    if "calls" in wanted:
        follow_calls(_program, True)
        # Before the interpreter takes itself apart.
        atexit.register(follow_calls, _program, False)
