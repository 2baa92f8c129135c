#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows a page of the guide: writes its files, runs its commands, and compares what they print.

    tests/guide/run.py DOCUMENT [--prefix INSTALLED]
    tests/guide/run.py --self-test

In a page

    <!-- file: train.py -->        the code block below is this file
    ```sh                          is run by bash, which stops at the first command that fails
    ```text                        after a block of commands: lines that they printed, in this order. A number stands
                                   for any number, … for anything, and blanks for one or more blanks
    <!-- exact: why -->            from here on a number stands for itself

Other blocks are only shown. Everything happens in one fresh folder.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIPPED = 77
MARK = re.compile(r"^<!-- (file|needs|exact): (.*) -->$")
FENCE = re.compile(r"^```(\w*)\s*$")


def steps_of(text: str):
    """(kind, argument, lines): kind is file, needs, exact, sh or text."""
    steps, lines, language, pending = [], [], None, None
    for line in text.splitlines():
        fence, mark = FENCE.match(line), MARK.match(line)
        if language is not None:
            if line == "```":
                if pending:
                    steps.append(("file", pending, lines))
                elif language in ("sh", "text"):
                    steps.append((language, "", lines))
                language, lines, pending = None, [], None
            else:
                lines.append(line)
        elif fence:
            language = fence.group(1)
        elif mark and mark.group(1) == "file":
            pending = mark.group(2)
        elif mark:
            steps.append((mark.group(1), mark.group(2), []))
    return steps


def pattern_of(line: str, exact: bool = False) -> re.Pattern:
    text = re.escape(" ".join(line.split())).replace("…", ".*").replace(r"\ ", r"\s+")
    if exact:
        return re.compile(text)
    text = re.sub(r"\d+(?:(?:\\\.|,)\d+)*", r"\\d[\\d.,]*", text)
    # Another machine may need another unit.
    return re.compile(re.sub(r"(?<=\\s\+)(?:ns|µs|ms|s)\b", "(?:ns|µs|ms|s)", text))


def missing_line(expected: list[str], printed: list[str], exact: bool = False) -> str | None:
    """The first expected line that was not printed after those before it."""
    at = 0
    for line in filter(str.strip, expected):
        pattern = pattern_of(line, exact)
        while at < len(printed) and not pattern.search(printed[at]):
            at += 1
        if at == len(printed):
            return line
        at += 1
    return None


def run_commands(lines: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    script = "set -eo pipefail\n" + "\n".join(lines)
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(f"$ {chr(10).join(lines)}\n{done.stdout}", flush=True)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}: {lines}")
    return done.stdout.splitlines()


def follow(document: Path, folder: Path, environment: dict[str, str]):
    printed: list[str] = []
    commands, exact = 0, False
    for kind, argument, lines in steps_of(document.read_text(encoding="utf-8")):
        if kind == "needs":
            if subprocess.run(argument, shell=True, env=environment, capture_output=True, check=False).returncode != 0:
                print(f"skipped: {argument} does not work here")
                sys.exit(SKIPPED)
        elif kind == "exact":
            exact = True
        elif kind == "file":
            (folder / argument).parent.mkdir(parents=True, exist_ok=True)
            (folder / argument).write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif kind == "sh":
            printed = run_commands(lines, folder, environment)
            commands += 1
        else:
            line = missing_line(lines, printed, exact)
            if line is not None:
                sys.exit(f"{document}: this line was not printed:\n{line}")
    if commands == 0:
        sys.exit(f"{document}: has no commands")


class SelfTest(unittest.TestCase):
    def test_reads_files_commands_and_output(self):
        page = "a\n<!-- file: x.py -->\n```python\nprint(1)\n```\n```sh\nls\n```\n```text\nx.py\n```\n```\nshown\n```\n"
        self.assertEqual(steps_of(page), [("file", "x.py", ["print(1)"]), ("sh", "", ["ls"]), ("text", "", ["x.py"])])

    def test_numbers_and_blanks_may_differ(self):
        self.assertIsNone(missing_line(["took 1.5 ms, 3,000 …"], ["", "it took   27 ms,  9 times, once"]))

    def test_numbers_may_not_differ_where_the_page_says_so(self):
        self.assertIsNone(missing_line(["took 1.5 ms, …"], ["took   1.5 ms, 2 times"], exact=True))
        self.assertEqual(missing_line(["took 1.5 ms"], ["took 1.6 ms"], exact=True), "took 1.5 ms")

    def test_finds_what_was_not_printed(self):
        self.assertEqual(missing_line(["b", "a"], ["a", "b"]), "a")
        self.assertEqual(missing_line(["a ms"], ["a us"]), "a ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", type=Path, nargs="?")
    parser.add_argument("--prefix", type=Path, default=Path("/usr"), help="where Sonde is installed")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        tests = unittest.defaultTestLoader.loadTestsFromTestCase(SelfTest)
        sys.exit(0 if unittest.TextTestRunner().run(tests).wasSuccessful() else 1)
    with tempfile.TemporaryDirectory() as folder:
        packages = ":".join(str(path) for path in arguments.prefix.glob("lib/python3*/*-packages"))
        environment = dict(os.environ, PATH=f"{arguments.prefix}/bin:/usr/bin:/bin", PYTHONPATH=packages, HOME=folder,
                           CMAKE_PREFIX_PATH=str(arguments.prefix), LC_ALL="C.UTF-8", COLUMNS="120")
        work = Path(folder) / "work"
        work.mkdir()
        follow(arguments.document, work, environment)


if __name__ == "__main__":
    main()
