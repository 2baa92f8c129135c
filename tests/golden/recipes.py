#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every recipe of docs/sql.md on recordings of PyTorch's: each must run on all, and find something in one.

    tests/golden/recipes.py --bin BUILD/bin
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TRACES = ("transformer", "graph_streams", "ranks4/rank0")
EMPTY_IS_FINE = ("FROM ledger", "start_ns IS NOT NULL AND end_ns IS NULL")


def recipes() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", (ROOT / "docs/sql.md").read_text(encoding="utf-8"), re.DOTALL)


def rows(sonde: Path, trace: str, query: str) -> int:
    file = ROOT / f"tests/data/torch-2.11-h200/{trace}.pt.trace.json.gz"
    done = subprocess.run([sonde, "sql", "--format", "csv", file, query], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}\nfailed on {trace}:\n{query}")
    return done.stdout.count("\n") - 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    sonde = parser.parse_args().bin / "sonde"
    queries = recipes()
    if len(queries) < 20:
        sys.exit(f"docs/sql.md has {len(queries)} recipes; is it still written with sql blocks?")
    for query in queries:
        found = [rows(sonde, trace, query) for trace in TRACES]
        if not any(found) and not any(text in query for text in EMPTY_IS_FINE):
            sys.exit(f"found nothing in any trace:\n{query}")
    print(f"{len(queries)} recipes ran")


if __name__ == "__main__":
    main()
