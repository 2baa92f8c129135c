#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what torch.profiler and Sonde recorded of the same operators: see train_both.py.

    compare_both.py TORCH.json SONDE.json

Within the annotation "both see this": the same operators on the same threads in the same order, with the
same sequence numbers, forward threads, sizes, types, strides and values; the same arrows from operators to their
gradients; the same allocations, if Sonde recorded them.
"""

import json
import sys

KEYS = ["Sequence number", "Fwd thread id", "Input Dims", "Input type", "Input Strides", "Concrete Inputs"]


def read(path: str):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    mark = next(e for e in events if e.get("name") == "both see this" and e["ph"] == "X")
    begin, end = mark["ts"], mark["ts"] + mark["dur"]

    def inside(event):
        return begin <= event["ts"] <= end

    ops: dict[int, list] = {}
    for event in sorted((e for e in events if e.get("cat") == "cpu_op" and inside(e)), key=lambda e: (e["ts"], -e["dur"])):
        ops.setdefault(event["tid"], []).append(event)
    memory = [e["args"]["Bytes"] for e in sorted((e for e in events if e.get("name") == "[memory]" and inside(e)),
                                                 key=lambda e: e["ts"])]
    return ops, memory if trace.get("profile_memory") else None, arrows(events, inside)


def arrows(events, inside):
    """(sequence number, operator, gradient) of the arrows that begin and end inside."""
    ops = {}
    for event in events:
        if event.get("cat") == "cpu_op" and "Sequence number" in event["args"]:
            ops[(event["tid"], event["ts"])] = event
    ends = {phase: {e["id"]: ops[(e["tid"], e["ts"])] for e in events
                    if e["ph"] == phase and e["cat"] == "fwdbwd" and inside(e)} for phase in "sf"}
    return sorted((gradient["args"]["Sequence number"], ends["s"][number]["name"], gradient["name"])
                  for number, gradient in ends["f"].items() if number in ends["s"])


def main() -> int:
    torch_ops, torch_memory, torch_arrows = read(sys.argv[1])
    our_ops, our_memory, our_arrows = read(sys.argv[2])
    differences, compared = [], 0
    for tid, theirs in torch_ops.items():
        ours = our_ops.get(tid, [])
        if len(ours) != len(theirs):
            differences.append(f"thread {tid}: {len(theirs)} operators for torch, {len(ours)} for Sonde")
        for index, (their_op, our_op) in enumerate(zip(theirs, ours)):
            compared += 1
            if their_op["name"] != our_op["name"]:
                differences.append(f"thread {tid}, {index}: {their_op['name']} for torch, {our_op['name']} for Sonde")
                break
            for key in KEYS:
                their_value, our_value = their_op["args"].get(key), our_op["args"].get(key)
                if their_value != our_value:
                    differences.append(f"{their_op['name']}: {key} is {their_value} for torch, {our_value} for Sonde")
    allocations = 0
    if our_memory is not None:
        allocations = len(torch_memory)
        if torch_memory != our_memory:
            differences.append(f"{len(torch_memory)} allocations for torch, {len(our_memory)} for Sonde, or others")
    if torch_arrows != our_arrows:
        only = set(torch_arrows) ^ set(our_arrows)
        differences.append(f"{len(torch_arrows)} arrows to gradients for torch, {len(our_arrows)} for Sonde: {sorted(only)[:4]}")
    only_ours = sorted(set(our_ops) - set(torch_ops))
    for line in differences[:25]:
        print(line)
    print(f"compared {compared} operators on {len(torch_ops)} threads, {len(torch_arrows)} arrows and {allocations} allocations: "
          f"{len(differences)} differences; threads that only Sonde saw: {len(only_ours)}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
