#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py --tool EXPORT_TOOL [--node NODE] [--perfetto 1] TRACE: exports a trace in all formats and checks them.

The export of the export must be the same bytes; compare_traces.py, check_trace_rules.py and check_perfetto.py check the rest.
"""
import argparse
import gzip
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    sys.stdout.write((done.stdout + done.stderr)[:4000])
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(str(word) for word in command)[:400]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--node", default="")
    parser.add_argument("--perfetto", default="0")
    args, rest = parser.parse_known_args()
    source = rest[0]
    with tempfile.TemporaryDirectory() as folder:
        first, again, packed = (pathlib.Path(folder) / name for name in ("1.json", "2.json", "1.json.gz"))
        run(args.tool, source, first)
        run(args.tool, first, again)
        run(args.tool, first, packed)
        if source != "--awkward":
            run(sys.executable, HERE / "compare_traces.py", source, first)
        run(sys.executable, HERE / "check_trace_rules.py", first, packed)
        if first.read_bytes() != again.read_bytes():
            sys.exit("the export of the export differs")
        if gzip.decompress(packed.read_bytes()) != first.read_bytes():
            sys.exit("the compressed export differs")
        if args.node:
            run(args.node, "-e", f"JSON.parse(require('fs').readFileSync({str(first)!r}, 'utf8'))")
        if args.perfetto == "1":
            run(args.tool, first, pathlib.Path(folder) / "1.pftrace")
            run(sys.executable, HERE / "check_perfetto.py", first, pathlib.Path(folder) / "1.pftrace")


if __name__ == "__main__":
    main()
