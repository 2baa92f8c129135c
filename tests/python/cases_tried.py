#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of PyTorch's cases that docs/pytorch-tests.md calls "not tried" were tried by a run of pytest, and how it ended.

    python3 tests/python/cases_tried.py RESULTS.xml…        made by pytest --junitxml

Says how many cases the page may call passing after that. The exit status is the number of those whose tests failed.
"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/pytorch-tests.md"


def results_of(paths):
    """How each test function ended; the worst of its variants."""
    order = ["passed", "skipped", "failed"]
    results = {}
    for path in paths:
        for case in xml.parse(path).iter("testcase"):
            name = case.get("name").partition("[")[0]
            ended = "failed" if case.find("failure") is not None or case.find("error") is not None else "passed"
            ended = "skipped" if case.find("skipped") is not None else ended
            results[name] = max(results.get(name, "passed"), ended, key=order.index)
    return results


def main():
    results = results_of(sys.argv[1:])
    counted, passing = collections.Counter(), 0
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 4 or not cells[1].startswith("``"):
            continue
        passing += cells[2] == "passes"
        if cells[2] != "not tried":
            continue
        tests = re.findall(r"`(test_\w+)`", cells[3])
        ended = [results.get(test, "not run") for test in tests] or ["no test"]
        worst = next(one for one in ("failed", "not run", "no test", "skipped", "passed") if one in ended)
        counted[worst] += 1
        print(f"{worst:<8} {cells[1].strip('`')}: {', '.join(tests) or cells[3]}")
    print(f"{dict(counted)}; with those that passed, {passing + counted['passed']} cases pass")
    return counted["failed"]


sys.exit(main())
