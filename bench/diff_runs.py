#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often `sonde diff` cries wolf, and how often it finds a known change, on runs recorded here.

    bench/diff_runs.py BUILD/bin [RUNS [SPLITS]]

Records RUNS runs (20) of a training loop, in turns: unchanged, unchanged again, one operator 3 % and 10 % slower, two
products more a step, 5 % more memory. Then compares SPLITS (100) random choices of 5 runs a side.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

VARIANTS = {"A": [], "A again": [], "3 % slower": ["264"], "10 % slower": ["282"], "2 products more": ["256", "2"],
            "5 % more memory": ["256", "0", "5"]}
GATES = ["step<5%", "operators=0", "flops=0", "peak_memory<1%"]


def record(bin_dir: Path, folder: Path, runs: int):
    for run in range(runs):
        for name, arguments in VARIANTS.items():
            trace = folder / "t.sonde"
            subprocess.run([bin_dir / "bench_diff_training", trace, *arguments], check=True, capture_output=True)
            subprocess.run([bin_dir / "sonde", "diff", trace, "--record", folder / f"{name}.{run}.sondebase"], check=True,
                           capture_output=True)


def compare(bin_dir: Path, folder: Path, name: str, runs: int, splits: int):
    verdicts, found, sums, detectable = Counter(), 0, 0.0, []
    for _ in range(splits):
        chosen = random.sample(range(runs), 10)
        base = [folder / f"A.{run}.sondebase" for run in chosen[:5]]
        new = [folder / f"{name}.{run}.sondebase" for run in chosen[5:]]
        gates = [word for gate in GATES for word in ("--gate", gate)]
        done = subprocess.run([bin_dir / "sonde", "diff", *base, "--", *new, "--format", "json", *gates],
                              capture_output=True, text=True, check=False)
        result = json.loads(done.stdout)
        for gate in result["gates"]:
            verdicts[gate["gate"], gate["verdict"]] += 1
        products = next(item for item in result["host"] if item["name"] == "aten::mm")
        found += products["time"].get("changed", False)
        detectable.append(products["time"].get("detectable", 0))
        sums = max(sums, abs(sum(item["delta_ns"] for item in result["host"]) - result["step_delta_ns"]))
    print(f"{name}: aten::mm found to have changed in {100 * found / splits:.0f} %, could have seen "
          f"{100 * sorted(detectable)[splits // 2]:.1f} %; parts miss the whole by at most {sums:.0f} ns")
    for gate in GATES:
        print(f"  {gate:16}", ", ".join(f"{verdict} {100 * count / splits:.0f} %" for (of, verdict), count in
                                         sorted(verdicts.items()) if of == gate))


def main():
    bin_dir = Path(sys.argv[1]).resolve()
    runs, splits = (int(sys.argv[2]) if len(sys.argv) > 2 else 20), (int(sys.argv[3]) if len(sys.argv) > 3 else 100)
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        record(bin_dir, Path(folder), runs)
        for name in VARIANTS:
            compare(bin_dir, Path(folder), name, runs, splits)


if __name__ == "__main__":
    main()
