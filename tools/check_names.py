#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that no name of the C++ sources means two things.

    tools/check_names.py               prints each name that is defined twice and where, exits 1 if there is one
    tools/check_names.py --self-test   shows that the checker finds what it must

Two types with the same name in the same namespace are one type to the linker, which keeps the functions of either and
does not warn. Names in anonymous namespaces must be unique in their folder, because unity builds compile a folder as one
source, where two functions of the same name become overloads. Tests are compiled apart from the sources. The checker
relies on clang-format: what begins a line is at namespace level.
"""

import re
import sys
import unittest
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePosixPath

from checker import ROOT, list_files, run_checker

SOURCE = re.compile(r"^(src|include|python/module)/.*\.(h|cpp)$")
ANONYMOUS = "(anonymous)"

# Compiled instead of each other.
ALTERNATIVES = {("include/sonde/detail/disabled.h", "include/sonde/record.h")}

NOT_CODE = re.compile(r'R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{$")
TYPE = re.compile(r"^(?:class|struct|union|enum(?: class)?)\s+(?:\[\[\w+\]\]\s+|alignas\(.*?\)\s+|SONDE_\w+\s+)?"
                  r"(\w+)\b(?!::|[^{]*;)")
ALIAS = re.compile(r"^using (\w+) =")
CONSTANT = re.compile(r"^(?:inline |static )*constexpr [^(={]*?(\w+)(?:\[\w*\])*\s*(?:=|\{)")
FUNCTION = re.compile(r"^(?!using\b|template\b|namespace\b|static_assert\b|extern\b)\w[\w:<>,&*\[\] ]*?[ *&]"
                      r"(?!__attribute__)(\w+)\([^;]*$")


@dataclass(frozen=True)
class Name:
    """Something that a file defines at namespace level."""
    name: str
    scope: str
    is_type: bool
    alias: str  # what it is another name for
    file: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def without_comments(text: str) -> str:
    """Comments and the contents of strings are blanked, and lines stay where they are."""
    def blank(found: re.Match) -> str:
        lines = "\n" * found.group().count("\n")
        return lines if found.group().startswith("/") else f'""{lines}'
    return NOT_CODE.sub(blank, text)


def names_of(file: str, text: str) -> list[Name]:
    found, scopes = [], []
    whole_lines = text.split("\n")
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        line = line.rstrip()
        opened = NAMESPACE.match(line)
        if opened:
            scopes.append(opened.group(1) or ANONYMOUS)
        elif line == "}" and "// namespace" in whole_lines[number - 1]:
            scopes.pop()
        else:
            kinds = ((TYPE, True), (ALIAS, True), (CONSTANT, False), (FUNCTION, False))
            matches = ((pattern.match(line), pattern, is_type) for pattern, is_type in kinds)
            match, pattern, is_type = next((one for one in matches if one[0]), (None, None, False))
            if match:
                alias = line if pattern is ALIAS else ""
                found.append(Name(match.group(1), "::".join(scopes), is_type, alias, file, number))
    return found


def clashes(groups: dict) -> list[list[Name]]:
    """The groups whose names come from two files and do not mean the same."""
    return [group for group in groups.values()
            if len({name.file for name in group}) > 1
            and not (group[0].alias and len({name.alias for name in group}) == 1)
            and tuple(sorted(name.file for name in group)) not in ALTERNATIVES]


def check(names: list[Name]) -> list[str]:
    hidden, types = defaultdict(list), defaultdict(list)
    for name in names:
        if ANONYMOUS in name.scope:
            if name.file.endswith(".cpp"):
                hidden[PurePosixPath(name.file).parent, name.file.endswith("_test.cpp"), name.name].append(name)
        elif name.is_type:
            types[name.scope, name.name].append(name)
    wrong = []
    for group in clashes(hidden) + clashes(types):
        first, *others = group
        reason = "in anonymous namespaces of one folder" if ANONYMOUS in first.scope else "in one namespace"
        wrong.append(f"{first.place}: {first.name} is defined twice {reason}; also at "
                     + ", ".join(other.place for other in others) + ". Rename one, or share it")
    return sorted(wrong)


class SelfTest(unittest.TestCase):
    def wrong(self, **files: str) -> int:
        """`a__b` is the file a/b.cpp, and `a__b_h` the header a/b.h."""
        names = []
        for key, body in files.items():
            path = key.removesuffix("_h").replace("__", "/") + (".h" if key.endswith("_h") else ".cpp")
            names += names_of(path, f"namespace sonde {{\n{body}\n}}  // namespace sonde\n")
        return len(check(names))

    @staticmethod
    def hidden(body: str) -> str:
        return f"namespace {{\n\n{body}\n\n}}  // namespace"

    def test_finds_what_clashes_in_one_folder(self):
        for body in ("int f(int x) {\n  return x;\n}", "constexpr int kMost = 3;", "struct Row {\n  int x;\n};",
                     "template <typename T>\nvoid put(T value) {\n}", "enum class Word : char { A };",
                     "std::vector<int> ids(const Report& found,\n                     int most) {\n}"):
            self.assertEqual(self.wrong(src__a__x=self.hidden(body), src__a__y=self.hidden(body)), 1, body)
            self.assertEqual(self.wrong(src__a__x=self.hidden(body), src__b__y=self.hidden(body)), 0, body)
            self.assertEqual(self.wrong(src__a__x=self.hidden(body), src__a__y_test=self.hidden(body)), 0, body)

    def test_finds_types_that_the_linker_takes_for_one(self):
        self.assertEqual(self.wrong(src__a__x="struct Row {\n};", src__b__y="class Row {\n};"), 1)
        self.assertEqual(self.wrong(src__a__x="struct Row {\n};", src__b__y_h="struct Row {\n};"), 1)
        self.assertEqual(self.wrong(src__a__x="struct Row {\n};", src__b__y=self.hidden("struct Row {\n};")), 0)

    def test_leaves_the_rest_alone(self):
        self.assertEqual(self.wrong(src__a__x_h="struct Row;", src__a__y_h="struct Row {\n};"), 0)
        self.assertEqual(self.wrong(src__a__x_h="class Row {\n};", src__a__y="struct Row::State {\n};"), 0)
        self.assertEqual(self.wrong(src__a__x="int f(int x) {\n}", src__a__y="int f(char x) {\n}"), 0)
        alias = self.hidden("using Bytes = std::vector<char>;")
        self.assertEqual(self.wrong(src__a__x=alias, src__a__y=alias), 0)
        other = self.hidden("using Bytes = std::string;")
        self.assertEqual(self.wrong(src__a__x=alias, src__a__y=other), 1)
        comment = self.hidden('/*\nint f(int x) {\n}\n*/\nint g() {\n  return 1;\n}\nchar k[] = R"(\nint f() {\n)";')
        self.assertEqual(self.wrong(src__a__x=comment, src__a__y=self.hidden("int f(int x) {\n}")), 0)


def tree_names() -> list[Name]:
    return [name for file in list_files(ROOT) if SOURCE.match(file)
            for name in names_of(file, (ROOT / file).read_text())]


if __name__ == "__main__":
    sys.exit(run_checker(__doc__, lambda: check(tree_names())))
