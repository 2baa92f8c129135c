#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `sonde` with what PyTorch's own profiler answered for the same recording.

    tests/conformance/compare.py --sonde BUILD/bin/sonde tests/data/torch-2.11-h200 transformer

NAME.pt.trace.json.gz is what PyTorch exported, NAME.expected.json.gz what it said: rows of
key_averages() plain and by shape, every event, the texts of five tables. Rows and events must be the
same in the same order, counts, bytes and FLOPs exact, times within 0.002 us per call (PyTorch adds
floating-point microseconds); the tables equal, character by character. NOT_IN_THE_TRACE names what is left
out here because, as docs/compatibility.md says, no trace contains it.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

US_PER_CALL = 0.002
TABLES = {
    "table_default": [],
    "table_device": ["--sort-by", "self_device_time_total", "--row-limit", "20"],
    "table_cpu": ["--sort-by", "cpu_time_total", "--row-limit", "20"],
    "table_top": ["--sort-by", "cpu_time_total", "--row-limit", "20", "--top-level"],
    "table_shape": ["--group-by-input-shape", "--sort-by", "flops", "--row-limit", "20"],
}
ROW_EXACT = ["key", "count", "flops", "cpu_memory", "self_cpu_memory", "device_memory", "self_device_memory",
             "device_type", "is_async", "is_user_annotation"]
ROW_TIMES = ["cpu_total", "self_cpu", "device_total", "self_device"]
EVENT_EXACT = ["id", "name", "thread", "fwd_thread", "seq", "scope", "parent", "flops", "is_async", "device_type",
               "cpu_mem", "dev_mem"]
EVENT_TIMES = ["start", "end", "self_cpu", "device_total", "self_device"]
NOT_IN_THE_TRACE: dict[str, list[str]] = {}


class Comparison:
    def __init__(self, sonde: str, trace: str):
        self.sonde = sonde
        self.trace = trace
        self.differences: list[str] = []
        self.compared = 0

    def run(self, command: str, *options: str) -> str:
        done = subprocess.run([self.sonde, command, self.trace, *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"sonde {command} failed with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def differ(self, where: str, what: str):
        self.differences.append(f"{where}: {what}")

    def values(self, where: str, theirs: dict, ours: dict, exact: list[str], times: list[str], calls: int):
        self.compared += 1
        for key in exact:
            if (theirs[key] or 0) != (ours[key] or 0):
                self.differ(where, f"{key} is {theirs[key]!r} for PyTorch, {ours[key]!r} for us")
        for key in times:
            if abs(theirs[key] - ours[key]) > US_PER_CALL * max(1, calls):
                self.differ(where, f"{key} is {theirs[key]} us for PyTorch, {ours[key]} us for us")

    def rows(self, name: str, theirs: list[dict], *options: str):
        ours = json.loads(self.run("table", "--format", "json", *options))
        if len(ours) != len(theirs):
            self.differ(name, f"{len(theirs)} rows for PyTorch, {len(ours)} for us")
        for index, (their_row, our_row) in enumerate(zip(theirs, ours)):
            where = f"{name} row {index} ({their_row['key'][:60]})"
            self.values(where, their_row, our_row, ROW_EXACT, ROW_TIMES, their_row["count"])
            if "input_shapes" in their_row and (their_row["input_shapes"] or []) != our_row["input_shapes"]:
                self.differ(where, f"shapes {their_row['input_shapes']} for PyTorch, {our_row['input_shapes']} for us")

    def events(self, theirs: list[dict]):
        ours = json.loads(self.run("events", "--format", "json"))
        if len(ours) != len(theirs):
            self.differ("events", f"{len(theirs)} for PyTorch, {len(ours)} for us")
        for index, (their_event, our_event) in enumerate(zip(theirs, ours)):
            where = f"event {index} ({their_event['name'][:60]})"
            exact = [key for key in EVENT_EXACT if key not in NOT_IN_THE_TRACE.get(their_event["name"], [])]
            # Self times lose a rounding error for each child, device times one for each kernel.
            self.values(where, their_event, our_event, exact, EVENT_TIMES, 100)
            their_kernels = [[kernel[0], kernel[1]] for kernel in their_event["kernels"]]
            our_kernels = [[kernel[0], kernel[1]] for kernel in our_event["kernels"]]
            if their_kernels != our_kernels:
                self.differ(where, f"kernels {their_kernels} for PyTorch, {our_kernels} for us")

    def table(self, name: str, theirs: str, options: list[str]):
        self.compared += 1
        ours = self.run("table", *options)
        if ours == theirs:
            return
        their_lines, our_lines = theirs.splitlines(), ours.splitlines()
        for number, (their_line, our_line) in enumerate(zip(their_lines, our_lines), start=1):
            if their_line != our_line:
                self.differ(name, f"line {number}:\n  PyTorch |{their_line}|\n  Sonde   |{our_line}|")
                return
        self.differ(name, f"{len(their_lines)} lines for PyTorch, {len(our_lines)} for us")

    def everything(self, expected: dict):
        self.rows("key_averages", expected["key_averages"])
        self.rows("by_shape", expected["by_shape"], "--group-by-input-shape")
        self.events(expected["events"])
        for name, options in TABLES.items():
            self.table(name, expected[name], options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--through", metavar="SUFFIX", help="export to this format first, and compare what comes of that")
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    arguments = parser.parse_args()
    expected = json.loads(gzip.open(arguments.folder / f"{arguments.name}.expected.json.gz").read())
    trace = arguments.folder / f"{arguments.name}.pt.trace.json.gz"
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.through:
            exported = Path(scratch) / f"exported{arguments.through}"
            subprocess.run([arguments.sonde, "export", trace, "-o", exported], check=True)
            trace = exported
        comparison = Comparison(arguments.sonde, str(trace))
        comparison.everything(expected)
    for difference in comparison.differences[:20]:
        print(difference)
    print(f"{arguments.name}: compared {comparison.compared}, {len(comparison.differences)} differences")
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
