#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks every #include of src/ and include/sonde/ against tools/layers.toml, and that against docs/architecture.md.

    tools/check_layers.py               prints FILE:LINE for each violation, exits 1 if there is one
    tools/check_layers.py --self-test   shows that the checker finds what it must

A module that may use another must use it. The table of modules in docs/architecture.md and the sentence "Uses ..." in the
README.md of each module must list the same.
"""

import re
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from checker import ROOT, run_checker

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MODULE_ROW = re.compile(r"^\| `src/[\w/]+/` \|")
MAY_USE = 3  # which cell of a row
# "Uses `base` and `wire`.", "Uses no other module." or "Uses every module." at the start of a line or a sentence.
USES = re.compile(r"(?:^|\. )Uses ((?:`[a-z_/]+`(?:, | and )?)+|no other module|every module)[.;]", re.MULTILINE)
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


def module_of_header(layers: Layers, header: str) -> str | None:
    if header.startswith("sonde/"):
        return layers.module_of_public(header.removeprefix("sonde/"))
    return layers.module_of_source(header)


def owner_of(layers: Layers, shown: str) -> str | None:
    """The module of a file under src/ or include/sonde/."""
    if shown.startswith("include/sonde/"):
        return layers.module_of_public(shown.removeprefix("include/sonde/"))
    return layers.module_of_source(shown.removeprefix("src/"))


def includes_of(path: Path) -> list[tuple[int, str, str]]:
    """Line number, quote and header of each #include."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return [(number, *found.groups()) for number, line in lines if (found := INCLUDE.match(line))]


def check_include(layers: Layers, owner: str, public: bool, test: bool, header: str) -> str | None:
    """Why the module `owner` may not include `header`; None if it may."""
    allowed = layers.modules[owner] + (layers.tests if test else [])
    if layers.is_foreign(header):
        if public:
            return f"a public header includes <{header}>: programs under test would need it too"
        if any(name.startswith("<") and header.startswith(name[1:]) for name in allowed):
            return None
        return f"'{owner}' may not include <{header}>"
    target = module_of_header(layers, header)
    if target is None and header.startswith("sonde/"):
        return f"'{header}' belongs to no module: name it under [public] in tools/layers.toml"
    if target is None:
        return None  # standard library or system
    if public and not header.startswith("sonde/"):
        return f"a public header includes '{header}', which is not installed"
    if target == owner or target in allowed or "*" in allowed:
        return None
    return f"'{owner}' may not include '{header}' of '{target}'"


def check_file(layers: Layers, root: Path, path: Path) -> list[str]:
    shown = path.relative_to(root).as_posix()
    public = shown.startswith("include/sonde/")
    owner = owner_of(layers, shown)
    if owner is None:
        return [f"{shown}:1: belongs to no module: name it in tools/layers.toml"]

    problems = []
    for number, quote, header in includes_of(path):
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
    problems = [problem for path in files for problem in check_file(layers, root, path)]
    problems += check_unused(layers, root, files)
    return problems + check_document(layers, root) + check_readmes(layers, root)


def check_unused(layers: Layers, root: Path, files: list[Path]) -> list[str]:
    """Modules that another may use and does not."""
    used: dict[str, set[str | None]] = {}
    for path in files:
        shown = path.relative_to(root).as_posix()
        owner = owner_of(layers, shown)
        if owner is None or is_test(shown):
            continue
        for _, _, header in includes_of(path):
            used.setdefault(owner, set()).add(module_of_header(layers, header))
    return [f"tools/layers.toml: '{module}' may use '{name}' and does not"
            for module, allowed in layers.modules.items() if module in used
            for name in allowed if name in layers.modules and name not in used[module]]


def check_document(layers: Layers, root: Path) -> list[str]:
    """Where the table of modules in docs/architecture.md differs."""
    document = root / "docs/architecture.md"
    if not document.exists():
        return []
    problems = []
    listed = set()
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        if not MODULE_ROW.match(line):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        module = cells[0].strip("`").removeprefix("src/").rstrip("/")
        listed.add(module)
        if module not in layers.modules:
            problems.append(f"docs/architecture.md:{number}: '{module}' is not in tools/layers.toml")
            continue
        wanted = [name for name in layers.modules[module] if not name.startswith("<")]
        wanted = ["all" if name == "*" else name for name in wanted] or ["-"]
        found = cells[MAY_USE].split(";")[0].split(", ")
        if found != wanted:
            problems.append(f"docs/architecture.md:{number}: '{module}' may use {', '.join(wanted)}, "
                            f"says tools/layers.toml; here it is {', '.join(found)}")
    return problems + [f"docs/architecture.md: its table lacks '{module}'"
                       for module in layers.modules if module not in listed]


def check_readmes(layers: Layers, root: Path) -> list[str]:
    """Where the README of a module names other modules than tools/layers.toml."""
    problems = []
    for module, allowed in layers.modules.items():
        readme = root / "src" / module / "README.md"
        if not readme.exists():
            continue
        wanted = [name for name in allowed if not name.startswith("<")]
        found = USES.findall(readme.read_text(encoding="utf-8"))
        named = [["*"] if text == "every module" else re.findall(r"`([^`]+)`", text) for text in found]
        if named != [wanted]:
            words = {"": "no other module", "*": "every module"}
            sentence = words.get(",".join(wanted)) or " and ".join(
                part for part in (", ".join(f"`{name}`" for name in wanted[:-1]), f"`{wanted[-1]}`") if part)
            problems.append(f"src/{module}/README.md: needs the sentence 'Uses {sentence}.', once")
    return problems


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
        self.assertEqual(len(self.problems({"include/sonde/trace.h": '#include "sonde/result.h"\n#include "trace/a.h"'})), 1)

    def test_foreign_header_outside_its_module_is_found(self):
        self.assertEqual(len(self.problems({"src/base/b.cpp": "#include <zstd.h>"})), 1)

    def test_foreign_header_in_public_header_is_found(self):
        self.assertEqual(len(self.problems({"include/sonde/trace.h": '#include "sonde/result.h"\n#include <zstd.h>'})), 1)

    def test_test_headers_stay_in_tests(self):
        self.assertEqual(len(self.problems({"src/base/b.cpp": "#include <gtest/gtest.h>"})), 1)

    def test_relative_includes_are_found(self):
        self.assertEqual(len(self.problems({"src/base/b.cpp": '#include "../base/b.h"\n#include "b.h"'})), 2)

    def test_unknown_folders_and_headers_are_found(self):
        self.assertEqual(len(self.problems({"src/misc/m.cpp": "", "include/sonde/new.h": ""})), 2)

    def test_a_module_that_may_be_used_and_is_not_is_named(self):
        found = self.problems({"src/trace/a.cpp": "#include <vector>\n"})
        self.assertEqual(found, ["tools/layers.toml: 'trace' may use 'base' and does not"])

    def test_a_document_that_says_something_else_is_found(self):
        row = "| `src/{}/` | what | - | {} | never |\n"
        right = row.format("base", "-") + row.format("trace", "base; zstd") + row.format("cli", "all")
        code = {"src/base/b.h": ""}
        self.assertEqual(self.problems(code | {"docs/architecture.md": right}), [])
        wrong = row.format("base", "trace") + row.format("gone", "-") + row.format("cli", "all")
        self.assertEqual(len(self.problems(code | {"docs/architecture.md": wrong})), 3)

    def test_a_readme_that_says_something_else_is_found(self):
        code = {"src/base/b.h": ""}
        self.assertEqual(self.problems(code | {"src/trace/README.md": "The model. Uses `base`.\n",
                                               "src/base/README.md": "Uses no other module.\n",
                                               "src/cli/README.md": "Uses every module; nobody uses it.\n"}), [])
        self.assertEqual(self.problems(code | {"src/trace/README.md": "Uses `base` and `cli`.\n"}),
                         ["src/trace/README.md: needs the sentence 'Uses `base`.', once"])
        self.assertEqual(len(self.problems(code | {"src/base/README.md": "What others lack.\n"})), 1)

    def test_rules_naming_unknown_modules_are_refused(self):
        with self.assertRaises(ValueError):
            Layers(self.RULES | {"modules": {"base": ["wire"]}})


def find_problems() -> list[str]:
    with (ROOT / "tools/layers.toml").open("rb") as file:
        return check_tree(ROOT, tomllib.load(file))


if __name__ == "__main__":
    sys.exit(run_checker(__doc__, find_problems))
