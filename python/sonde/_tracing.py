# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import sys
from typing import Any


def is_traced() -> bool:
    """Whether torch.compile reads the caller now, instead of running it. What it reads must not call into C++: the graph would end
    there."""
    guards: Any = sys.modules.get("torch._guards")
    return guards is not None and guards.TracingContext.try_get() is not None


# torch.compile calls a function with this mark, and takes its answer as a constant.
is_traced._dynamo_marked_constant = True  # type: ignore[attr-defined]
