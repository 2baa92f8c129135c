# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program with Sonde's profilers instead of torch's:

    python3 -m sonde train.py --epochs 3
    python3 -m sonde -m package.train --epochs 3

The program stays as it is. What it asks of torch.profiler and torch.autograd.profiler is answered by Sonde: tables,
exports, handlers. To record a program that uses no profiler, run `sonde run -- python3 train.py`.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import List

from sonde._stand_in import stand_in

_USAGE = "usage: python3 -m sonde [-m MODULE | PROGRAM.py] [ARGUMENT…]"


def main(arguments: List[str]) -> int:
    if arguments[:1] in (["--help"], ["-h"]):
        print(f"{_USAGE}\n\n{__doc__.strip()}")
        return 0
    is_module = arguments[:1] == ["-m"]
    if len(arguments) < (2 if is_module else 1) or (arguments[0].startswith("-") and not is_module):
        print(f"sonde: name a program to run\n{_USAGE}", file=sys.stderr)
        return 2
    stand_in()
    if is_module:
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    program = arguments[0]
    if not os.path.exists(program):
        print(f"sonde: {program}: no such file", file=sys.stderr)
        return 2
    sys.argv = arguments
    # Like python3 itself: the program finds its own modules in its folder.
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
