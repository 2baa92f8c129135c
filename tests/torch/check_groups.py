#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether `sonde run` records the process groups of a job, and `sonde job` matches collectives of sub-groups.

usage: check_groups.py SONDE          exits with 77 if python3 has no torch that can be recorded
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS = 4
PYTHON = "/usr/bin/python3"


def main():
    sonde = sys.argv[1]
    if subprocess.run([PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"],
                      capture_output=True, check=False).returncode != 0:
        print("skipped: python3 has no torch with gloo")
        return 77
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(__file__).with_name("groups.py")
        jobs = []
        for rank in range(RANKS):
            env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(port), OMP_NUM_THREADS="1")
            jobs.append(subprocess.Popen([sonde, "run", "-q", "-o", f"{folder}/rank{{rank}}.sonde", "--", PYTHON, program],
                                         env=env))
        for job in jobs:
            if job.wait(timeout=120) != 0:
                print("FAILED: a rank ended with", job.returncode)
                return 1
        files = sorted(Path(folder).glob("*.sonde"))
        if len(files) != RANKS:
            print("skipped: torch is not recorded here")
            return 77
        done = subprocess.run([sonde, "job", folder, "--format", "json"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print("FAILED:", done.stderr)
            return 1
        groups = {tuple(group["ranks"]): group for group in json.loads(done.stdout)["groups"]}
        for ranks in ((0, 1, 2, 3), (0, 1), (2, 3)):
            group = groups.get(ranks)
            if group is None or group["states"] != {"FULLY_MATCHED": 4}:
                print(f"FAILED: group {ranks}: {group}\nall: {list(groups)}")
                return 1
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
