#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a recording says of collectives what torch.profiler says of the same program.

usage: compare_collectives.py TORCH.json SONDE.json

Compares what is "measured" in both: operators and kernels of collectives with their arguments, and the process
groups. Addresses of tensors are not compared.
"""

import json
import sys

KEYS = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "In split size", "Out split size", "Group size",
        "Global rank start", "Global rank stride", "Process Group Name", "Process Group Description",
        "Process Group Ranks", "Rank", "Src Rank", "Dst Rank", "Is asynchronized op")


def facts(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    measured = next(e for e in events if e["name"] == "measured" and e.get("cat") == "user_annotation")
    begin, end = measured["ts"], measured["ts"] + measured["dur"]
    found = {"cpu_op": [], "kernel": []}
    for event in sorted(events, key=lambda e: e["ts"]):
        args = event.get("args", {})
        if begin <= event["ts"] <= end and "Collective name" in args and event.get("cat") in found:
            found[event["cat"]].append({key: str(args[key]) for key in KEYS if key in args})
    groups = [{key: group[key] for key in ("pg_name", "pg_desc", "pg_size", "ranks")}
              for group in trace.get("distributedInfo", {}).get("pg_config", [])]
    return found, groups


def main():
    (torch, torch_groups), (sonde, sonde_groups) = facts(sys.argv[1]), facts(sys.argv[2])
    failed = 0
    for category, of_torch in torch.items():
        of_sonde = sonde[category]
        same = sum(a == b for a, b in zip(of_torch, of_sonde))
        is_right = len(of_torch) == len(of_sonde) == same and (of_torch or category == "kernel")
        print(f"{'ok  ' if is_right else 'DIFF'} {category}: {len(of_torch)} and {len(of_sonde)} collectives, {same} the same")
        failed |= not is_right
        for a, b in zip(of_torch, of_sonde):
            if a != b:
                print("     torch", a, "\n     sonde", b)
    is_right = torch_groups == sonde_groups
    print(f"{'ok  ' if is_right else 'DIFF'} process groups: {torch_groups} and {sonde_groups}")
    return 1 if failed or not is_right else 0


if __name__ == "__main__":
    sys.exit(main())
