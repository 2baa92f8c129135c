#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks every #include of src/ and include/sonde/ against tools/layers.toml.

    tools/check_layers.py               prints FILE:LINE for each violation, exits 1 if there is one
    tools/check_layers.py --self-test   shows that the checker finds what it must
"""

import argparse
import re
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".cu", ".in"}


class Layers:
    def __init__(self, rules: dict):
        self.modules: dict[str, list[str]] = rules["modules"]
        self.public: dict[str, str] = rules["public"]
        self.foreign: tuple[str, ...] = tuple(rules["foreign"]["prefixes"])
        self.tests: list[str] = rules["tests"]["may_use"]
        for module, allowed in self.modules.items():
            for name in allowed:
                if name != "*" and not name.startswith("<") and name not in self.modules:
                    raise ValueError(f"layers.toml: '{module}' names '{name}', which is no module")

    def module_of_source(self, relative: str) -> str | None:
        """The module that owns src/RELATIVE: the deepest folder that is one."""
        parts = relative.split("/")[:-1]
        for depth in range(len(parts), 0, -1):
            if "/".join(parts[:depth]) in self.modules:
                return "/".join(parts[:depth])
        return None

    def module_of_public(self, relative: str) -> str | None:
        """The module that owns include/sonde/RELATIVE."""
        matches = [prefix for prefix in self.public if relative.startswith(prefix)]
        return self.public[max(matches, key=len)] if matches else None

    def is_foreign(self, header: str) -> bool:
        return header.startswith(self.foreign)


def is_test(relative: str) -> bool:
    stem = relative.rsplit("/", 1)[-1].split(".")[0]
    return stem.endswith(("_test", "_bench", "_fuzz")) or "/testing/" in relative


def check_include(layers: Layers, owner: str, public: bool, test: bool, header: str) -> str | None:
    """Why the module `owner` may not include `header`; None if it may."""
    allowed = layers.modules[owner] + (layers.tests if test else [])
    if layers.is_foreign(header):
        if public:
            return f"a public header includes <{header}>: programs under test would need it too"
        if any(name.startswith("<") and header.startswith(name[1:]) for name in allowed):
            return None
        return f"'{owner}' may not include <{header}>"
    if header.startswith("sonde/"):
        target = layers.module_of_public(header.removeprefix("sonde/"))
        if target is None:
            return f"'{header}' belongs to no module: name it under [public] in tools/layers.toml"
    else:
        target = layers.module_of_source(header)
        if target is None:
            return None  # standard library or system
        if public:
            return f"a public header includes '{header}', which is not installed"
    if target == owner or target in allowed or "*" in allowed:
        return None
    return f"'{owner}' may not include '{header}' of '{target}'"


def check_file(layers: Layers, root: Path, path: Path) -> list[str]:
    shown = path.relative_to(root).as_posix()
    public = shown.startswith("include/sonde/")
    if public:
        owner = layers.module_of_public(shown.removeprefix("include/sonde/"))
    else:
        owner = layers.module_of_source(shown.removeprefix("src/"))
    if owner is None:
        return [f"{shown}:1: belongs to no module: name it in tools/layers.toml"]

    problems = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, header = found.groups()
        if ".." in header.split("/"):
            why = f"'{header}': includes start at the root of src/ or include/"
        elif quote == '"' and "/" not in header:
            why = f"'{header}': includes start at the root of src/ or include/"
        else:
            why = check_include(layers, owner, public, is_test(shown), header)
        if why:
            problems.append(f"{shown}:{number}: {why}")
    return problems


def check_tree(root: Path, rules: dict) -> list[str]:
    layers = Layers(rules)
    files = [path for top in ("src", "include/sonde") for path in sorted((root / top).rglob("*"))
             if path.is_file() and path.suffix in SUFFIXES]
    if not files:
        return ["no sources found under src/ and include/sonde/"]
    return [problem for path in files for problem in check_file(layers, root, path)]


class SelfTest(unittest.TestCase):
    RULES = {
        "modules": {"base": [], "trace": ["base", "<zstd"], "cli": ["*", "<CLI/"]},
        "public": {"result.h": "base", "trace": "trace"},
        "foreign": {"prefixes": ["zstd", "CLI/", "gtest/"]},
        "tests": {"may_use": ["<gtest/"]},
    }

    def problems(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_tree(Path(folder), self.RULES)

    def test_allowed_includes_pass(self):
        self.assertEqual(self.problems({
            "src/trace/a.cpp": '#include <vector>\n#include <sys/mman.h>\n#include <zstd.h>\n'
                               '#include "base/b.h"\n#include "sonde/result.h"\n',
            "src/cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "trace/a.h"\n',
            "include/sonde/trace_tables.h": '#include "sonde/result.h"\n',
            "src/base/b_test.cpp": "#include <gtest/gtest.h>\n",
        }), [])

    def test_upward_include_is_named_with_its_line(self):
        found = self.problems({"src/base/b.h": '#pragma once\n#include "trace/a.h"\n'})
        self.assertEqual(found, ["src/base/b.h:2: 'base' may not include 'trace/a.h' of 'trace'"])

    def test_upward_public_include_is_found(self):
        self.assertEqual(len(self.problems({"include/sonde/result.h": '#include "sonde/trace.h"'})), 1)

    def test_public_header_may_not_use_private_one(self):
        self.assertEqual(len(self.problems({"include/sonde/trace.h": '#include "trace/a.h"'})), 1)

    def test_foreign_header_outside_its_module_is_found(self):
        self.assertEqual(len(self.problems({"src/base/b.cpp": "#include <zstd.h>"})), 1)

    def test_foreign_header_in_public_header_is_found(self):
        self.assertEqual(len(self.problems({"include/sonde/trace.h": "#include <zstd.h>"})), 1)

    def test_test_headers_stay_in_tests(self):
        self.assertEqual(len(self.problems({"src/base/b.cpp": "#include <gtest/gtest.h>"})), 1)

    def test_relative_includes_are_found(self):
        self.assertEqual(len(self.problems({"src/base/b.cpp": '#include "../base/b.h"\n#include "b.h"'})), 2)

    def test_unknown_folders_and_headers_are_found(self):
        self.assertEqual(len(self.problems({"src/misc/m.cpp": "", "include/sonde/new.h": ""})), 2)

    def test_rules_naming_unknown_modules_are_refused(self):
        with self.assertRaises(ValueError):
            Layers(self.RULES | {"modules": {"base": ["wire"]}})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return 0 if unittest.main(argv=["check_layers"], exit=False).result.wasSuccessful() else 1
    with (ROOT / "tools/layers.toml").open("rb") as file:
        problems = check_tree(ROOT, tomllib.load(file))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
