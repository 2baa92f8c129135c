#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For Doxygen: prints a header with its comments marked as documentation.

    docs/site_headers.py HEADER

The comment that a header begins with is about the file, a comment on lines of its own about what follows, and one at the
end of a line about what is before it. What is indented in a comment is code.
"""

import re
import sys
from pathlib import Path

COMMENT = re.compile(r"^( *)//( .*)?$")
TRAILING = re.compile(r"^( *[^ /#].*[;,\w)}])  +// (?!NOLINT)(.*)$")


def blocks(lines: list[str]):
    """(indentation, lines of a comment), or (None, [a line that is none])."""
    block, indentation = [], ""
    for line in [*lines, None]:
        comment = COMMENT.match(line) if line is not None else None
        if block and not (comment and comment.group(1) == indentation):
            yield indentation, block
            block = []
        if comment:
            indentation = comment.group(1)
            block.append((comment.group(2) or " ")[1:])
        elif line is not None:
            yield None, [line]


def documented(indentation: str, comment: list[str], about_file: bool) -> list[str]:
    text = ["@file", *comment] if about_file else comment
    return [f"{indentation}/// {'    ' if line.startswith('  ') else ''}{line}" for line in text]


def main():
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    seen_comment = False
    for indentation, block in blocks(lines):
        if indentation is None:
            print(TRAILING.sub(r"\1  ///< \2", block[0]))
        elif block[0].startswith(("SPDX", "NOLINT", "clang-format")):
            print("\n" * (len(block) - 1))
        else:
            print("\n".join(documented(indentation, block, about_file=not seen_comment and indentation == "")))
            seen_comment = True


if __name__ == "__main__":
    main()
