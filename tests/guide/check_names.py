#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that docs/how-to/from-torch-profiler.md lists each of PyTorch's names that the package for Python has.

    tests/guide/check_names.py PACKAGE     PACKAGE is the folder that the package is in

What the first column of a table names belongs to the module in the heading above it.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/from-torch-profiler.md"

# Of each module: the classes whose members count, and the functions whose arguments count.
MODULES = {
    "torch.profiler": ("sonde.profiler", ("profile", "ExecutionTraceObserver"), ("profile", "schedule")),
    "torch.autograd.profiler": ("sonde.autograd.profiler", ("profile", "KinetoStepTracker", "EnforceUnique"), ("profile",)),
    "torch.autograd.profiler_util": ("sonde.autograd.profiler_util", ("EventList", "FunctionEvent", "FunctionEventAvg", "Interval"),
                                     ("FunctionEvent", "EventList.table")),
    "torch.cuda.profiler": ("sonde.cuda.profiler", (), ()),
    "torch._dynamo.profiler": ("sonde.dynamo.profiler", ("Profiler", "ProfileResult"), ()),
}
# Sonde's own, or not for users.
LEFT_OUT = {"with_calls", "with_native_stack", "output", "columns", "save", "trace", "self", "start_us", "end_us", "span", "arguments"}


def named_on(page: str) -> dict[str, set[str]]:
    """By module: the names in the first columns."""
    names: dict[str, set[str]] = {}
    heading = ""
    for line in page.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and heading:
            quoted = re.findall(r"``(.+?)``", line.split("|")[1])
            for module in (module for module in MODULES if module in heading.split(", ")):
                names.setdefault(module, set()).update(word for text in quoted for word in re.findall(r"[A-Za-z_]\w*", text))
    return names


def members(kind: type) -> set[str]:
    own = {name for name in dir(kind) if not name.startswith("_")}
    return own - set(dir(list)) if issubclass(kind, list) else own


def arguments(module, name: str) -> set[str]:
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    return set(inspect.signature(found).parameters)


def names_of(module_name: str, classes: tuple[str, ...], functions: tuple[str, ...]) -> set[str]:
    module = importlib.import_module(module_name)
    names = set(module.__all__)
    for name in classes:
        names |= members(getattr(module, name))
    for name in functions:
        names |= arguments(module, name)
    if "FunctionEvent" in classes:  # its fields, most of which are made when they are read
        from sonde import _function_event as events
        names |= {name for name in (*events._FIELD_AT, *events._LAZY) if not name.startswith("_")}
    return names - LEFT_OUT


def main() -> int:
    sys.path.insert(0, sys.argv[1])
    named, missing = named_on(PAGE.read_text(encoding="utf-8")), []
    for module, (ours, classes, functions) in MODULES.items():
        names = names_of(ours, classes, functions)
        assert len(names) >= 3, f"{ours} has hardly any names: {names}"
        missing += [f"{PAGE.name}: {module} has {name}" for name in sorted(names - named.get(module, set()))]
    print("\n".join(missing), end="\n" if missing else "")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
