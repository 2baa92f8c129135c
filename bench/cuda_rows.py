#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums up what bench/cuda_launches.cu printed, a line for each process: NAME LEAST TENTH MEDIAN, in ns a launch.

Each row: the processes of one name, the least and the median of their quickest rounds, what each is above "none", and
how much of what "kineto" adds that is; then the median of their medians.

usage: cuda_rows.py FILE
"""

import statistics
import sys

rows = {}
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        name, *figures = line.split()
        rows.setdefault(name, []).append([float(figure) for figure in figures])


def summary(name):
    least, tenth, median = zip(*rows[name])
    return [min(least), statistics.median(least), statistics.median(tenth), statistics.median(median)]


nothing, all_records = summary("none"), summary("kineto")
print(f"{'':<16}{'runs':>5}" + "".join(f"{title:>24}" for title in ("least of all", "median of the least",
                                                                     "of the tenths", "of the medians")))
for name in rows:
    cells = [f"{ns:8.0f} {ns - none:+7.0f} {100 * (ns - none) / (every - none):5.0f} %"
             for ns, none, every in zip(summary(name), nothing, all_records)]
    print(f"{name:<16}{len(rows[name]):>5}" + "".join(f"{cell:>24}" for cell in cells))
