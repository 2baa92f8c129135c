# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the checkers of the source tree share: the files to look at, and the command line.

    if __name__ == "__main__":
        sys.exit(run_checker(__doc__, lambda: check(list_files(ROOT))))
"""

import argparse
import subprocess
import sys
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def list_files(root: Path) -> list[str]:
    """Files that are or could be part of the repository, relative to its root."""
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root,
                             capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        return [name for name in listing.stdout.splitlines() if (root / name).is_file()]
    names = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return [name for name in names if not name.startswith(("build", ".git/"))]


def run_checker(about: str, find_problems: Callable[[], Iterable[str]]) -> int:
    """Prints the problems, or with --self-test runs the test cases of the program. Returns the exit status."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check the checker itself")
    if parser.parse_args().self_test:
        return 0 if unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful() else 1
    problems = list(find_problems())
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0
