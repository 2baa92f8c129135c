#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py PART --sonde FILE --counted FILE --awkward FILE --sanitized FOLDER --library FILE [--quick] [--count N] [--seed N]
                [--only NAME] [--times N] [--inside]

Records programs that end badly, behave oddly or have little room, and compares with what they did and counted themselves.
README.md describes the parts: kills, awkward, places, together, stacks, or all. --quick tries a few of each, --count sets the
number of kills, --only takes the cases whose names contain it, --times repeats every case. --inside takes only the cases of
kills and together in which programs record themselves, without `sonde run`: those that a sanitizer can watch. What it finds
fails the case. The last lines are the counts.
"""
import argparse
import os
import random
import signal
import sys
import tempfile

import awkward
import kills
import places
import together
from trial import Bench

PARTS = {"kills": kills.run, "awkward": awkward.run, "places": places.run, "together": together.run, "stacks": awkward.run_stacks}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("part", choices=[*PARTS, "all"])
    for name in ("sonde", "counted"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("awkward", "sanitized", "library"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=20261118)
    parser.add_argument("--only", default="")
    parser.add_argument("--times", type=int, default=1)
    options = parser.parse_args()
    bench = Bench(options, random.Random(options.seed))
    # If it is ended early, it prints the counts so far.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(bench.report()))
    parts = {"kills": kills.run, "together": together.run} if options.inside else PARTS
    # Where a `sonde run` that is killed leaves its log.
    with tempfile.TemporaryDirectory(prefix="sonde-stress-logs-") as logs:
        os.environ["TMPDIR"] = logs
        for part, run in parts.items():
            if options.part in (part, "all"):
                run(bench)
    sys.exit(bench.report())


if __name__ == "__main__":
    main()
