#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the trace's C++ tables, the keys of Kineto's JSON, and their documentation from schema/trace.toml.

usage: tools/gen_schema.py [--check]
  --check   writes nothing; exits 1 and names the files that are not what they should be
"""

import argparse
import sys

from schema_gen.cpp_tables import header, notes, source
from schema_gen.kineto_keys import KEYS_PAGE, keys_header, keys_page
from schema_gen.model import ROOT, SCHEMA, Schema
from schema_gen.model_page import page

FILES = {
    "include/sonde/trace/tables_gen.h": header,
    "src/trace/tables_gen.cpp": source,
    "src/trace/notes_gen.cpp": notes,
    "docs/trace-model.md": page,
    "src/convert/kineto/keys_gen.h": keys_header,
    KEYS_PAGE: keys_page,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    schema = Schema((ROOT / SCHEMA).read_text(encoding="utf-8"))
    stale = []
    for path, generate in FILES.items():
        text = "\n".join(generate(schema)) + "\n"
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not check:
            file.write_text(text, encoding="utf-8")
    if check and stale:
        sys.exit(f"not up to date with {SCHEMA}: {', '.join(stale)}; run tools/gen_schema.py")


if __name__ == "__main__":
    main()
