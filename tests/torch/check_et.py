#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs et_both.py under `sonde run --et`: the same nodes as torch's own observer wrote, and all checks of `sonde et`.

    check_et.py SONDE [PYTHON, default /usr/bin/python3] [cpu|cuda]

Exits with 77 where that Python has no torch.
"""

import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def main() -> int:
    sonde, python = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "/usr/bin/python3"
    device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"skipped: {python} has no torch (Debian: python3-torch)")
        return SKIPPED
    here = pathlib.Path(__file__).parent
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        theirs, ours, recording = folder / "theirs.json", folder / "ours.json.gz", folder / "run.sonde"
        subprocess.run([sonde, "run", "--shapes", "--memory", f"--et={ours}", "-o", str(recording), "--", python,
                        str(here / "et_both.py"), str(theirs), device], check=True)
        compared = subprocess.run([sys.executable, str(here / "compare_et.py"), str(theirs), str(ours)], check=False)
        for command in (["et", str(ours), "--trace", str(recording)], ["et", str(recording), "--row-limit", "0"]):
            subprocess.run([sonde, *command], check=True)
        chakra = subprocess.run([sonde, "et", str(ours), "--trace", str(recording), "-o", str(folder / "run.chakra")],
                                stderr=subprocess.PIPE, text=True, check=False)
        print(chakra.stderr, end="", file=sys.stderr)
        without_protobuf = "made without libprotozero-dev" in chakra.stderr
        return compared.returncode or (0 if without_protobuf else chakra.returncode)


if __name__ == "__main__":
    sys.exit(main())
