#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tests/cuda/compare_graphs.py TORCH SONDE: compares what `sonde graphs --format json` says about two recordings of one program.

Times differ from run to run; what was captured, how often, and what it launched does not.
"""
import json
import sys

COUNTED = ("ops", "device_pieces", "triton_kernels")


def counts(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        graphs = json.load(file)
    found = {}
    for side in ("inside", "outside"):
        found[side] = tuple(graphs[side][key] for key in COUNTED)
    for region in graphs["regions"]:
        found[f"{region['kind']} {region['name']}"] = (region["calls"], *(region[key] for key in COUNTED))
    for one in graphs["breaks"]:
        found[f"break {one['from']} -> {one['into']}"] = one["count"]
    for op in graphs["outside_ops"]:
        found[f"outside {op['name']} {op['broken']}"] = op["count"]
    found["guard checks"] = graphs["overhead"]["guard_checks"]
    return found


def main() -> int:
    torch, sonde = counts(sys.argv[1]), counts(sys.argv[2])
    differing = [key for key in {**torch, **sonde} if torch.get(key) != sonde.get(key)]
    for key in differing:
        print(f"{key}: torch.profiler {torch.get(key)}, sonde {sonde.get(key)}")
    print(f"{len(torch)} counts, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
