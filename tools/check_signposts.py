#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that what the documents name in backticks exists.

    tools/check_signposts.py               prints FILE:LINE for each dead signpost, exits 1 if there is one
    tools/check_signposts.py --self-test   shows that the checker finds what it must

Of `single backticks` outside fenced blocks these are looked up:

    paths                  src/trace/, sonde/trace.h, run.py   from the root, the document's folder, src/ or
                                                               include/; a bare file name anywhere; * is a glob
    symbols                Foo::bar, bar(), FooBar, SONDE_X,   words of the sources; the parts of Foo::bar must
                           snake_case, kConstant               stand in one file
    tests                  Suite.SaysWhatHolds                 TEST(Suite, SaysWhatHolds) of the sources
    options                --format                            words of the sources
    commands               sonde info FILE                     src/cli/*/info.cpp

Names of others (PyTorch's, the system's), examples and placeholders go in ``double backticks``, which
are not looked up. Neither are std::, paths from / or ~, files under build/, and `.sonde` files.
"""

import fnmatch
import re
import sys
import tempfile
import unittest
from pathlib import Path

from checker import ROOT, list_files, run_checker

DOCUMENTS = ("*.md",)
SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".in", ".cmake", ".py", ".toml", ".txt", ".json", ".sh", ""}
FILE_NAME = re.compile(r"^[\w*-][\w.*+-]*\.(h|hpp|cpp|c|py|md|toml|txt|cmake|json|in|case)$|^\.[\w-]+$")
FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
PATH = re.compile(r"^[\w.*+-]+(/[\w.*+-]+)*/?$")
SYMBOL = re.compile(r"^~?[A-Za-z_]\w*(::~?[A-Za-z_]\w*)*(\(\))?$")
WORD = re.compile(r"[A-Za-z_]\w*")
TEST_NAME = re.compile(r"^[A-Z]\w*\.[A-Z]\w*$")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)


class Tree:
    """What signposts may point at."""

    def __init__(self, root: Path):
        self.files = list_files(root)
        self.paths = set(self.files)
        for name in self.files:
            self.paths.update(parent.as_posix() for parent in Path(name).parents)
        self.names = {name.rsplit("/", 1)[-1] for name in self.files}
        self.words_of: list[set[str]] = []
        self.words: set[str] = set()
        self.options: set[str] = set()
        self.tests: set[str] = set()
        for name in self.files:
            if Path(name).suffix in SOURCE_SUFFIXES and Path(name).name != Path(__file__).name:
                self.read_source(root / name)

    def read_source(self, path: Path):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return
        if path.suffix in {".h", ".hpp", ".cpp", ".c"}:
            text = COMMENT.sub("", text)
            self.tests.update(".".join(names) for names in TEST.findall(text))
        words = set(WORD.findall(text))
        self.words_of.append(words)
        self.words |= words
        self.options.update(OPTION.findall(text))

    def has_path(self, path: str, folder: str) -> bool:
        path = path.rstrip("/").removeprefix("./")
        for base in ("", folder, "src", "include", "include/sonde"):
            whole = f"{base}/{path}" if base else path
            if whole in self.paths or ("*" in whole and fnmatch.filter(self.paths, whole)):
                return True
        return "/" not in path and (path in self.names or bool(fnmatch.filter(self.names, path)))

    def has_symbol(self, symbol: str) -> bool:
        parts = [part for part in WORD.findall(symbol) if part != "sonde"]
        if len(parts) < 2:
            return all(part in self.words for part in parts)
        return any(words.issuperset(parts) for words in self.words_of)


def looks_like_symbol(text: str) -> bool:
    if not SYMBOL.match(text):
        return False
    if "::" in text or text.endswith("()") or text.startswith("SONDE_"):
        return True
    if text.isupper():
        return False  # an environment variable or a constant of the system
    camel = re.match(r"^[A-Z][a-z0-9]+[A-Z]\w*$|^k[A-Z]\w*$|^[A-Z][a-z]+$", text)
    return bool(camel) or ("_" in text.strip("_"))


def problem_with(tree: Tree, text: str, folder: str) -> str | None:
    """Why `text`, seen in a document of `folder`, is a dead signpost; None if it is not one."""
    words = text.split()
    if not words or text.startswith(("std::", "/", "~/", "build/", "-D", "<", ".sonde")):
        return None
    if words[0] == "sonde" and len(words) > 1 and words[1].isalpha() and words[1].islower():
        if not fnmatch.filter(tree.paths, f"src/cli/*/{words[1]}.cpp"):
            return f"`sonde {words[1]}`: no such command"
    for option in OPTION.findall(text):
        if option not in tree.options:
            return f"`{option}`: no source knows this option"
    first = words[0]
    if len(words) > 1:
        # A command line: only its program is checked, if it is one of ours.
        return None if not first.startswith("tools/") or tree.has_path(first, folder) else f"`{first}`: no such file"
    if first.endswith(".sonde") or "://" in first:
        return None
    if ("/" in first and PATH.match(first)) or FILE_NAME.match(first):
        return None if tree.has_path(first, folder) else f"`{first}`: no such path"
    if TEST_NAME.match(first):
        return None if first in tree.tests else f"`{first}`: no such test"
    if looks_like_symbol(first) and not tree.has_symbol(first):
        return f"`{first}`: not found in the sources"
    return None


def check_document(tree: Tree, root: Path, name: str) -> list[str]:
    problems, fenced = [], False
    folder = Path(name).parent.as_posix()
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            for ticks, text in CODE.findall(line):
                why = problem_with(tree, text.strip(), "" if folder == "." else folder) if ticks == "`" else None
                if why:
                    problems.append(f"{name}:{number}: {why}")
    return problems


def check_tree(root: Path) -> list[str]:
    tree = Tree(root)
    documents = [name for name in tree.files if any(fnmatch.fnmatch(name, form) for form in DOCUMENTS)]
    if not documents:
        return ["no documents found"]
    return [problem for name in documents for problem in check_document(tree, root, name)]


class SelfTest(unittest.TestCase):
    FILES = {
        "src/trace/trace.h": "// GoneName\nclass Trace { int row_count(); };\n#define SONDE_SCOPE(x)\n",
        "src/cli/answer/info.cpp": 'app.add_option("--format");\nstruct Other {};\n',
        "src/trace/trace_test.cpp": "TEST(Trace, IsEmptyAtFirst) {}\nTEST_F(Rows,\n       AreCounted) {}\n",
        "tools/test": "#!/bin/bash\n",
    }

    def problems(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (self.FILES | {"docs/page.md": text}).items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
            return check_tree(Path(folder))

    def test_living_signposts_pass(self):
        self.assertEqual(self.problems(
            "`src/trace/`, `trace/trace.h`, `trace.h`, `page.md`, `src/*/trace.h`, `Trace::row_count()`,\n"
            "`Trace.IsEmptyAtFirst`, `Rows.AreCounted`, `row_count`, `SONDE_SCOPE`, `sonde info FILE --format json`, `--format`, `tools/test`"), [])

    def test_dead_signposts_are_named_with_their_line(self):
        self.assertEqual(self.problems("fine\n`src/gone.h`\n"), ["docs/page.md:2: `src/gone.h`: no such path"])

    def test_each_kind_of_dead_signpost_is_found(self):
        for text in ("gone.cpp", "docs/gone.md", "Trace::gone", "gone_name()", "SONDE_GONE", "GoneName",
                     "sonde gone FILE", "--gone", "tools/gone now", "kGone", "Other::row_count",
                     "Trace.IsGone", "Rows.IsEmptyAtFirst"):
            with self.subTest(text):
                self.assertEqual(len(self.problems(f"a `{text}` b")), 1)

    def test_a_name_that_only_a_comment_keeps_is_dead(self):
        self.assertEqual(len(self.problems("`GoneName`")), 1)

    def test_foreign_names_in_double_backticks_pass(self):
        self.assertEqual(self.problems("``torch::gone_name`` and ``src/NAME.h``"), [])

    def test_fenced_blocks_are_not_read(self):
        self.assertEqual(self.problems("```\n`src/gone.h`\n```\n"), [])

    def test_plain_words_and_foreign_places_pass(self):
        self.assertEqual(self.problems("`record` `std::vector` `/dev/shm` `x == 1` `a.sonde` `build/x` `RANK`"), [])


if __name__ == "__main__":
    sys.exit(run_checker(__doc__, lambda: check_tree(ROOT)))
