#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that nothing strayed into the repository.

    tools/check_files.py               prints each file that is wrong and why, exits 1 if there is one
    tools/check_files.py --self-test   shows that the checker finds what it must

Sources begin with the SPDX line of the licence, no file is larger than a test may need, and names are plain.
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

from checker import ROOT, list_files, run_checker

MOST_BYTES = 256 * 1024
SPDX = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SOURCE = re.compile(r"\.(h|cpp|c|cu|py|sh|cmake|toml|ts|tsx|mjs)$|(^|/)CMakeLists\.txt$|^(tools|\.ci)/")
PLAIN = re.compile(r"^[\w.][\w.+-]*$")


def check(root: Path, names: list[str]) -> list[str]:
    wrong = []
    for name in names:
        path = root / name
        if not all(PLAIN.match(part) for part in name.split("/")):
            wrong.append(f"{name}: a name must begin with a letter, and have no blanks or signs")
        if path.stat().st_size > MOST_BYTES:
            wrong.append(f"{name}: has {path.stat().st_size} bytes; {MOST_BYTES} is the most")
        elif SOURCE.search(name) and SPDX not in "".join(path.read_text(errors="replace").splitlines()[:3]):
            wrong.append(f"{name}: has no line with {SPDX}")
    return wrong


class SelfTest(unittest.TestCase):
    def wrong(self, name: str, text: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text)
            return bool(check(Path(folder), [name]))

    def test_finds_what_strayed(self):
        self.assertTrue(self.wrong("--help", ""))
        self.assertTrue(self.wrong("a b.md", ""))
        self.assertTrue(self.wrong("large.json", "x" * (MOST_BYTES + 1)))
        self.assertTrue(self.wrong("a.cpp", "int a;\n"))

    def test_leaves_the_rest_alone(self):
        self.assertFalse(self.wrong("a.cpp", f"// {SPDX}\nint a;\n"))
        self.assertFalse(self.wrong("run.py", f"#!/usr/bin/env python3\n# {SPDX}\n"))
        self.assertFalse(self.wrong(".clang-format", "x"))
        self.assertFalse(self.wrong("data.json", "x" * MOST_BYTES))


if __name__ == "__main__":
    sys.exit(run_checker(__doc__, lambda: check(ROOT, list_files(ROOT))))
