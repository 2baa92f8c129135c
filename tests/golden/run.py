#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs golden cases: a trace, a command line, and the expected output.

    tests/golden/run.py --bin BUILD/bin CASE…            compares; prints a diff and exits 1 if it differs
    tests/golden/run.py --bin BUILD/bin --accept CASE…   rewrites what the cases expect
    tests/golden/run.py --self-test

SONDE_GOLDEN_ACCEPT in the environment accepts too. A case is a text of fields. The value of a field follows
the colon, or is on the lines below, indented by two spaces:

    # why this case exists
    trace: trace.sonde        a file drawn as src/trace/testing/sketch.h describes
      main  aabb
    file: notes.txt           a file with the text below
    folder: name              an empty folder
    copy: data.sonde          from tests/data
    cut: trace.sonde 100      the file keeps its first 100 bytes; -100: it loses its last 100
    patch: trace.sonde 8 ff   bytes written over the file at an offset, in hexadecimal
    version: trace.sonde 9    its header claims another format version, with a valid checksum
    replace: [0-9]+ B => N B  before comparing, in both outputs; a regular expression
    run: sonde info trace.sonde
    exit: 0                   0 unless given
    stdout:
      what it prints
    stderr:
      nothing, unless given

The command runs in a separate folder, under bash with pipefail; `sonde` is the one that was built.
"""

import argparse
import concurrent.futures
import difflib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
FIELD = re.compile(r"^([a-z]+):(?: (.*))?$")
KNOWN = {"trace", "file", "folder", "copy", "cut", "patch", "version", "replace", "run", "exit", "stdout", "stderr"}
RESULTS = ("exit", "stdout", "stderr")


class CaseError(Exception):
    pass


def parse(text: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The comment lines at the top, and the fields as (key, value, text below)."""
    comments: list[str] = []
    fields: list[tuple[str, str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = FIELD.match(line)
        if found:
            if found[1] not in KNOWN:
                raise CaseError(f"line {number}: unknown field '{found[1]}'")
            fields.append((found[1], (found[2] or "").strip(), []))
        elif line.startswith("#") and not fields:
            comments.append(line)
        elif fields and (line.startswith("  ") or not line.strip()):
            fields[-1][2].append(line[2:])
        elif line.strip():
            raise CaseError(f"line {number}: neither a field nor indented: {line}")
    return comments, [(key, value, "\n".join(lines).rstrip("\n")) for key, value, lines in fields]


def unparse(comments: list[str], fields: list[tuple[str, str, str]]) -> str:
    lines = list(comments)
    for key, value, below in fields:
        lines.append(f"{key}: {value}".rstrip())
        lines += [f"  {line}".rstrip() if not line.strip() else f"  {line}" for line in below.splitlines()]
    return "\n".join(lines) + "\n"


def safe_name(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise CaseError(f"'{name}' lies outside the case's folder")
    return path


def prepare(folder: Path, bin_dir: Path, key: str, value: str, below: str):
    words = value.split()
    if key == "trace":
        done = subprocess.run([bin_dir / "sketch_tool", safe_name(folder, value)], input=below, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise CaseError(f"the drawing was refused: {done.stderr.strip()}")
    elif key == "file":
        safe_name(folder, value).write_text(below + "\n" if below else "", encoding="utf-8")
    elif key == "folder":
        safe_name(folder, value).mkdir()
    elif key == "copy":
        shutil.copyfile(DATA / value, safe_name(folder, value))
    elif key == "cut":
        path = safe_name(folder, words[0])
        path.write_bytes(path.read_bytes()[: int(words[1])])
    elif key == "patch":
        path = safe_name(folder, words[0])
        content, offset, patch = bytearray(path.read_bytes()), int(words[1]), bytes.fromhex("".join(words[2:]))
        content[offset:offset + len(patch)] = patch
        path.write_bytes(content)
    elif key == "version":
        set_version(safe_name(folder, words[0]), int(words[1]))


def set_version(path: Path, version: int):
    """The header as docs/file-format.md draws it: version at byte 8, checksum of 64 bytes at 12."""
    content = bytearray(path.read_bytes())
    content[8:16] = struct.pack("<II", version, 0)
    content[12:16] = struct.pack("<I", zlib.crc32(content[:64]))
    path.write_bytes(content)


def environment(bin_dir: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS") or key == "TMPDIR"}
    return kept | {"PATH": f"{bin_dir}:{os.environ.get('PATH', '')}", "LC_ALL": "C", "COLUMNS": "80"}


def run_case(fields: list[tuple[str, str, str]], bin_dir: Path) -> dict[str, str]:
    """The results of the command, under the keys of RESULTS."""
    command = next((value for key, value, _ in fields if key == "run"), None)
    if command is None:
        raise CaseError("there is nothing to run")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for key, value, below in fields:
            prepare(folder, bin_dir, key, value, below)
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment(bin_dir),
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    result = {"exit": str(done.returncode), "stdout": done.stdout.decode(errors="replace"),
              "stderr": done.stderr.decode(errors="replace")}
    for key, value, _ in fields:
        if key == "replace":
            pattern, _, replacement = value.partition(" => ")
            for stream in ("stdout", "stderr"):
                result[stream] = re.sub(pattern, replacement, result[stream])
    return {key: without_blanks(text) for key, text in result.items()}


def without_blanks(text: str) -> str:
    """A line of blanks and an empty one look the same in a case, and so count as the same."""
    return "\n".join(line if line.strip() else "" for line in text.splitlines()).rstrip("\n")


def expectation(fields: list[tuple[str, str, str]]) -> dict[str, str]:
    expected = {"exit": "0", "stdout": "", "stderr": ""}
    for key, value, below in fields:
        if key == "exit":
            expected[key] = value
        elif key in RESULTS:
            expected[key] = below
    return expected


def accepted(comments: list[str], fields: list[tuple[str, str, str]], actual: dict[str, str]) -> str:
    kept = [field for field in fields if field[0] not in RESULTS]
    if actual["exit"] != "0":
        kept.append(("exit", actual["exit"], ""))
    kept += [(key, "", actual[key]) for key in ("stdout", "stderr") if actual[key]]
    return unparse(comments, kept)


def check(path: Path, bin_dir: Path, accept: bool) -> list[str]:
    """Compares or accepts one case; returns what is wrong with it."""
    try:
        comments, fields = parse(path.read_text(encoding="utf-8"))
        actual = run_case(fields, bin_dir)
    except (CaseError, OSError, subprocess.TimeoutExpired) as error:
        return [f"{path}: {error}"]
    if accept:
        path.write_text(accepted(comments, fields, actual), encoding="utf-8")
        return []
    expected = expectation(fields)
    wrong = []
    for key in RESULTS:
        if expected[key] != actual[key]:
            wrong.append(f"{path}: {key} differs")
            wrong += difflib.unified_diff(expected[key].splitlines(), actual[key].splitlines(), "expected", "actual",
                                          lineterm="")
    return wrong


def check_all(paths: list[Path], bin_dir: Path, accept: bool) -> int:
    """Runs several at once and reports them in order; returns how many failed."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, wrong in zip(paths, pool.map(lambda path: check(path, bin_dir, accept), paths)):
            if wrong:
                failed.append(path.stem)
                print("\n".join(wrong), file=sys.stderr)
    print(f"{len(paths) - len(failed)} of {len(paths)} golden cases passed")
    if failed:
        print("failed:", *failed)
    return len(failed)


class SelfTest(unittest.TestCase):
    def check(self, text: str, accept: bool = False) -> tuple[bool, str]:
        with tempfile.TemporaryDirectory() as folder:
            case = Path(folder) / "a.case"
            case.write_text(text, encoding="utf-8")
            return not check(case, Path("/bin"), accept), case.read_text(encoding="utf-8")

    def test_matching_output_passes(self):
        self.assertTrue(self.check("run: printf 'a\\n\\nb\\n'\nstdout:\n  a\n\n  b\n")[0])

    def test_each_result_can_fail(self):
        for command in ("echo b", "echo a; echo c >&2", "echo a; exit 3", "true"):
            with self.subTest(command):
                self.assertFalse(self.check(f"run: {command}\nstdout:\n  a\n")[0])

    def test_accepting_makes_a_case_pass_and_keeps_the_rest(self):
        text = "# why\nfile: in.txt\n  hello\nrun: cat in.txt; echo no >&2; exit 4\nstdout:\n  old\n"
        accepted_text = self.check(text, accept=True)[1]
        self.assertEqual(accepted_text, "# why\nfile: in.txt\n  hello\nrun: cat in.txt; echo no >&2; exit 4\n"
                                        "exit: 4\nstdout:\n  hello\nstderr:\n  no\n")
        self.assertTrue(self.check(accepted_text)[0])

    def test_files_can_be_cut_and_patched(self):
        self.assertTrue(self.check("file: f\n  abcdef\npatch: f 1 58 59\ncut: f 4\nrun: cat f\nstdout:\n  aXYd\n")[0])

    def test_replacements_apply_to_what_was_printed(self):
        self.assertTrue(self.check("replace: [0-9]+ B => N B\nrun: echo 12 B\nstdout:\n  N B\n")[0])

    def test_nonsense_fails(self):
        for text in ("", "walk: x\n", "run: true\nno field\n", "folder: ../up\nrun: true\n"):
            with self.subTest(text):
                self.assertFalse(self.check(text)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, help="folder of the built programs")
    parser.add_argument("--accept", action="store_true", default=bool(os.environ.get("SONDE_GOLDEN_ACCEPT")))
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("cases", nargs="*", type=Path)
    arguments = parser.parse_args()
    if arguments.self_test:
        return 0 if unittest.main(argv=["run"], exit=False).result.wasSuccessful() else 1
    if not arguments.cases or not arguments.bin:
        parser.error("--bin and at least one case are needed")
    return 1 if check_all(arguments.cases, arguments.bin.resolve(), arguments.accept) else 0


if __name__ == "__main__":
    sys.exit(main())
