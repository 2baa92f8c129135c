#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs whose truth is known, as files of all ranks, and whether `sonde job` finds it.

    bench/job_truth.py list                               the cases
    bench/job_truth.py make CASE OUT [--seed 3]           write the files of a case
    bench/job_truth.py check build/release/bin/sonde      make, analyse and judge all cases
    bench/job_truth.py check SONDE --only 'pp_*' --seeds 5

A small simulation runs the ranks: hosts launch kernels, streams run them in order, collectives end when all
have arrived, and each host has a clock with an offset and a drift. It knows what a fault costs, because it
also runs the job without the fault. The files look like those that PyTorch's profiler writes with NCCL.

A case is right if the verdict names the rank and the cause (or nobody), if the cost of a step is right to
15 %, and if all true offsets lie within the bounds. Over all cases, 99 % must lie within the stated errors.
"""

import argparse
import json
import sys
from pathlib import Path

from made_jobs.cases import cases
from made_jobs.files import make
from made_jobs.judging import check


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="names of the cases")
    one = commands.add_parser("make", help="write the files of a case")
    one.add_argument("case")
    one.add_argument("out", type=Path)
    one.add_argument("--seed", type=int, default=1)
    all_of = commands.add_parser("check", help="run `sonde job` on all cases")
    all_of.add_argument("sonde")
    all_of.add_argument("--only", default="*")
    all_of.add_argument("--seeds", type=int, default=1)
    all_of.add_argument("--first-seed", type=int, default=1)
    all_of.add_argument("--large", action="store_true", help="also jobs of 1,024 ranks")
    options = parser.parse_args()
    some, large = cases()
    if options.command == "list":
        print("\n".join(c.name for c in some + large))
        return 0
    if options.command == "make":
        case = next((c for c in some + large if c.name == options.case), None)
        if case is None:
            parser.error(f"no case {options.case}; `list` shows them")
        truth = make(case, options.seed, options.out)
        print(json.dumps({"case": case.name, "culprits": case.culprits, "causes": case.causes,
                          "per_step_ns": truth.per_step_ns, "offsets_ns": truth.offsets}))
        return 0
    return check(options)


if __name__ == "__main__":
    sys.exit(main())
