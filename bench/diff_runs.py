#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often `sonde diff` cries wolf, and how often it finds a known change, on runs recorded here.

    bench/diff_runs.py BUILD/bin [--runs 20] [--splits 200] [--python PYTHON] [--keep FOLDER]

Records runs of a training loop in turns: unchanged, unchanged again, one operator 3 % and 10 % slower, two products more
a step, 5 % more memory. Then compares random choices of 5 runs a side. The loop is a LibTorch program, or with --python
a Python program under `sonde run`. --keep keeps the runs as baselines, and uses those that are there.
"""

import argparse
import json
import random
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

VARIANTS = {"A": [], "A again": [], "3 % slower": ["264"], "10 % slower": ["282"], "2 products more": ["256", "2"],
            "5 % more memory": ["256", "0", "5"]}
GATES = ["step<5%", "operators=0", "flops=0", "peak_memory<1%"]
SIDE = 5


def record_one(options: argparse.Namespace, arguments: list[str], trace: Path):
    if options.python:
        program = [options.bin / "sonde", "run", "--quiet", "--shapes", "--memory", "-o", trace, "--", options.python,
                   Path(__file__).with_name("diff_training.py"), *arguments]
    else:
        program = [options.bin / "bench_diff_training", trace, *arguments]
    subprocess.run(program, check=True, capture_output=True)


def record(options: argparse.Namespace, folder: Path):
    for run in range(options.runs):
        for name, arguments in VARIANTS.items():
            kept = folder / f"{name}.{run}.sondebase"
            if kept.exists():
                continue
            trace = folder / "t.sonde"
            record_one(options, arguments, trace)
            subprocess.run([options.bin / "sonde", "diff", trace, "--record", kept], check=True, capture_output=True)
            trace.unlink()


def compare(options: argparse.Namespace, folder: Path, name: str):
    verdicts, found, named, sums, detectable, failed = Counter(), 0, 0, 0.0, [], 0
    for _ in range(options.splits):
        chosen = random.sample(range(options.runs), 2 * SIDE)
        base = [folder / f"A.{run}.sondebase" for run in chosen[:SIDE]]
        new = [folder / f"{name}.{run}.sondebase" for run in chosen[SIDE:]]
        gates = [word for gate in GATES for word in ("--gate", gate)]
        done = subprocess.run([options.bin / "sonde", "diff", *base, "--", *new, "--format", "json", *gates],
                              capture_output=True, text=True, check=False)
        result = json.loads(done.stdout)
        failed += result["verdict"] == "failed"
        for gate in result["gates"]:
            verdicts[gate["gate"], gate["verdict"]] += 1
        products = next(item for item in result["host"] if item["name"] == "aten::mm")
        found += products["time"].get("changed", False)
        named += result["host"][0]["name"] == "aten::mm"
        detectable.append(products["time"].get("detectable", 0))
        sums = max(sums, abs(sum(item["delta_ns"] for item in result["host"]) - result["step_delta_ns"]))
    percent = 100 / options.splits
    print(f"{name}: a gate failed in {percent * failed:.1f} %; aten::mm found to have changed in {percent * found:.0f} %, "
          f"first of the explanation in {percent * named:.0f} %, could have seen "
          f"{100 * sorted(detectable)[options.splits // 2]:.1f} %; parts miss the whole by at most {sums:.0f} ns")
    for gate in GATES:
        print(f"  {gate:16}", ", ".join(f"{verdict} {percent * count:.1f} %" for (of, verdict), count in
                                         sorted(verdicts.items()) if of == gate))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=lambda text: Path(text).resolve())
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--python")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        folder.mkdir(exist_ok=True)
        record(options, folder)
        for name in VARIANTS:
            compare(options, folder, name)


if __name__ == "__main__":
    main()
