#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a document quotes a source file, all of it but the licence line, in a ```cpp block.

usage: check_quoted.py SOURCE DOCUMENT
"""
import re
import sys
from pathlib import Path

source, document = map(Path, sys.argv[1:])
code = source.read_text(encoding="utf-8").split("\n", 1)[1]
blocks = re.findall(r"^```cpp\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
if code not in blocks:
    sys.exit(f"{document}: no block is the text of {source}")
