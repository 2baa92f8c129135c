#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares two execution traces of the same operators, torch's and Sonde's: see et_both.py.

    compare_et.py TORCH.json[.gz] SONDE.json[.gz]

Nodes are joined by their record-function ids. Compares everything that torch has: name, parent, forward parent, sequence number,
scope, threads, schema, values, shapes, types, strides and attributes. Tensors and storages have other numbers in the
two files; each number of one must correspond to one of the other. Torch writes floats with six decimals, Sonde all digits.
"""

import gzip
import json
import sys

ATTRIBUTES = ["seq_id", "scope", "tid", "fw_tid", "op_schema", "kernel_backend", "kernel_file"]
LISTS = ["values", "shapes", "types", "strides"]


def read(path: str) -> dict:
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def modern(node: dict) -> dict:
    """Converts a node of schema 1.0.1 to today's; missing fields stay missing."""
    if "attrs" in node:
        return {**node, "attrs": {a["name"]: a["value"] for a in node["attrs"]}}
    lists = {side: {"values": node[side + "s"], "shapes": node[side + "_shapes"], "types": node[side + "_types"]}
             for side in ("input", "output")}
    names = ["rf_id", "fw_parent", *(name for name in ATTRIBUTES if name in node)]
    return {"id": node["id"], "name": node["name"], "ctrl_deps": node["parent"], "inputs": lists["input"],
            "outputs": lists["output"], "attrs": {name: node[name] for name in names}}


def is_tensor(value) -> bool:
    return isinstance(value, list) and len(value) == 6 and isinstance(value[5], str) and \
        all(isinstance(number, int) for number in value[:5])


class Comparison:
    def __init__(self, theirs: dict, ours: dict):
        self.theirs = [modern(node) for node in theirs["nodes"]]
        self.ours = [modern(node) for node in ours["nodes"]]
        self.by_id = [{node["id"]: node for node in side} for side in (self.theirs, self.ours)]
        self.numbers = ({}, {})
        self.values = 0
        self.tensors = 0
        self.differences: list[str] = []

    def differ(self, node: dict, text: str) -> None:
        self.differences.append(f"{node['attrs']['rf_id']} {node['name']}: {text}")

    def same_number(self, theirs: int, ours: int) -> bool:
        """0 means none."""
        if theirs == 0 or ours == 0:
            return theirs == ours
        return self.numbers[0].setdefault(theirs, ours) == ours and self.numbers[1].setdefault(ours, theirs) == theirs

    def same_value(self, theirs, ours) -> bool:
        if is_tensor(theirs) and is_tensor(ours):
            self.tensors += 1
            return self.same_number(theirs[0], ours[0]) and self.same_number(theirs[1], ours[1]) and \
                theirs[2:] == ours[2:]
        if isinstance(theirs, list) and isinstance(ours, list):
            return len(theirs) == len(ours) and all(self.same_value(t, o) for t, o in zip(theirs, ours))
        if isinstance(theirs, float) and isinstance(ours, float):
            return abs(theirs - ours) <= 0.5000001e-6
        return type(theirs) is type(ours) and theirs == ours

    def parent(self, side: int, number: int):
        node = self.by_id[side].get(number)
        if node is None:
            return "none"
        return node["attrs"]["rf_id"] or node["name"].replace("execution_graph", "execution_trace")

    def compare_lists(self, side: str, theirs: dict, ours: dict) -> None:
        for name in LISTS:
            if name not in theirs[side]:
                continue
            their_list, our_list = theirs[side][name], ours[side][name]
            same = self.same_value(their_list, our_list) if name == "values" else their_list == our_list
            if not same:
                self.differ(theirs, f"{side} {name} are {their_list} for torch, {our_list} for Sonde")
        self.values += len(theirs[side]["values"])

    def compare(self, theirs: dict, ours: dict) -> None:
        if theirs["name"] != ours["name"]:
            return self.differ(theirs, f"is {ours['name']} for Sonde")
        pairs = [("parent", self.parent(0, theirs["ctrl_deps"]), self.parent(1, ours["ctrl_deps"]))]
        if theirs["attrs"]["fw_parent"] != 0:
            pairs.append(("forward parent", self.parent(0, theirs["attrs"]["fw_parent"]),
                          self.parent(1, ours["attrs"]["fw_parent"])))
        elif ours["attrs"]["fw_parent"] != 0:
            pairs.append(("forward parent", "none", self.parent(1, ours["attrs"]["fw_parent"])))
        names = set(theirs["attrs"]) - {"rf_id", "fw_parent", "tensor_range"}
        pairs += [(name, theirs["attrs"][name], ours["attrs"].get(name)) for name in sorted(names)]
        for what, their_value, our_value in pairs:
            if their_value != our_value:
                self.differ(theirs, f"{what} is {their_value} for torch, {our_value} for Sonde")
        self.compare_lists("inputs", theirs, ours)
        self.compare_lists("outputs", theirs, ours)

    def run(self) -> int:
        ours = {node["attrs"]["rf_id"]: node for node in self.ours if node["attrs"]["rf_id"] != 0}
        inside = self.inside_mark()
        theirs = sorted((node for node in self.theirs if node["id"] in inside), key=lambda node: node["attrs"]["rf_id"])
        for node in theirs:
            match = ours.get(node["attrs"]["rf_id"])
            if match is None:
                self.differ(node, "is not there for Sonde")
            else:
                self.compare(node, match)
        return len(theirs)

    def inside_mark(self) -> set[int]:
        """All operators between the begin and the end of the annotation, on all threads."""
        mark = next(node for node in self.theirs if node["name"] == "both see this")
        first = mark["attrs"]["rf_id"]
        return {node["id"] for node in self.theirs if node["attrs"]["rf_id"] >= first}


def main() -> int:
    theirs, ours = read(sys.argv[1]), read(sys.argv[2])
    comparison = Comparison(theirs, ours)
    nodes = comparison.run()
    for line in comparison.differences[:25]:
        print(line[:600])
    print(f"compared {nodes} nodes with {comparison.values} inputs and outputs and {comparison.tensors} tensors, "
          f"schema {theirs['schema']}: {len(comparison.differences)} differences")
    return 1 if comparison.differences or nodes == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
