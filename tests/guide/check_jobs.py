#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the jobs that docs/ci.md prints, as GitHub and GitLab run them, in a repository made for it.

    tests/guide/check_jobs.py docs/ci.md BIN

The repository has a ./bench.sh that gives a trace of its version. A branch that changes nothing has to pass, one that
launches a kernel more has to fail, and the job says so where the server shows it.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# A trace of its version, each time a little different.
BENCH = """#!/bin/bash
set -e
now=$(date +%s%N)
python3 make_trace.py "$((now / 1000))" > "$1"
"""
MAKE_TRACE = """import json, sys
begin, kernels, events = int(sys.argv[1]), {kernels}, []
def span(cat, name, at, dur, **more):
    events.append({{"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": begin + at, "dur": dur, **more}})
for step in range(5):
    at = 10000 * step
    span("user_annotation", f"ProfilerStep#{{step}}", at, 9000 + begin % 7)
    span("cpu_op", "aten::mm", at + 100, 5000)
    for i in range(kernels):
        args = {{"correlation": 100 * step + i + 1}}
        span("cuda_runtime", "cudaLaunchKernel", at + 200 + 10 * i, 5, args=args)
        span("kernel", "gemm", at + 300 + 50 * i, 20, args={{**args, "device": 0, "stream": 7}}, pid=0, tid=7)
print(json.dumps({{"traceEvents": events}}))
"""


def block_after(text: str, heading: str) -> str:
    return re.search(rf"^## {heading}$.*?^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)


def github_scripts(block: str) -> list[str]:
    """What follows `run: |`, each block less its indentation."""
    scripts, indent = [], None
    for line in block.splitlines():
        depth = len(line) - len(line.lstrip())
        if line.strip() == "run: |":
            scripts.append("")
            indent = depth
        elif indent is not None and depth > indent:
            scripts[-1] += line.strip() + "\n"
        else:
            indent = None
    return [script.replace("${{ github.base_ref }}", "main") for script in scripts]


def gitlab_scripts(block: str) -> list[str]:
    lines = re.search(r"^  script:\n((?:    - .*\n)+)", block, re.MULTILINE).group(1).splitlines()
    return ["\n".join(line.removeprefix("    - ") for line in lines)]


def git(folder: Path, *words: str):
    identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, kernels: int):
    (folder / "bench.sh").write_text(BENCH)
    (folder / "bench.sh").chmod(0o755)
    (folder / "make_trace.py").write_text(MAKE_TRACE.format(kernels=kernels))
    git(folder, "add", "-A")
    git(folder, "commit", "--allow-empty", "-m", f"{kernels} kernels")


def checked_out(work: Path, kernels: int) -> Path:
    """A clone at the branch `change`; on main, a step launches three kernels."""
    origin = work / "origin"
    origin.mkdir()
    git(origin, "init")
    commit(origin, 3)
    git(origin, "checkout", "-b", "change")
    commit(origin, kernels)
    git(work, "clone", "-b", "change", "origin", "clone")
    return work / "clone"


def run_job(scripts: list[str], clone: Path, environment: dict[str, str]) -> int:
    for script in scripts:
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=clone, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            print(done.stdout)
            return done.returncode
    return 0


def check(server: str, scripts: list[str], bin_folder: str) -> list[str]:
    faults = []
    for kernels, wanted in ((3, 0), (4, 1)):
        with tempfile.TemporaryDirectory() as made:
            work = Path(made)
            clone = checked_out(work, kernels)
            summary = work / "summary.md"
            environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}",
                           "GITHUB_WORKSPACE": str(clone), "GITHUB_STEP_SUMMARY": str(summary),
                           "CI_PROJECT_DIR": str(clone), "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
            if server == "GitLab":  # has fetched the one branch only
                git(clone, "update-ref", "-d", "refs/remotes/origin/main")
            status = run_job(scripts, clone, environment)
            shown = summary if server == "GitHub" else clone / "performance.xml"
            text = shown.read_text() if shown.exists() else ""
            if status != wanted:
                faults.append(f"{server}, {kernels} kernels: status {status}, not {wanted}")
            if "launches=0" not in text or ("3 before, 4 now" in text) != (kernels == 4):
                faults.append(f"{server}, {kernels} kernels: {json.dumps(text)}")
    return faults


def main():
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    faults = check("GitHub", github_scripts(block_after(text, "GitHub")), sys.argv[2])
    faults += check("GitLab", gitlab_scripts(block_after(text, "GitLab")), sys.argv[2])
    print("\n".join(faults) or "both jobs pass what changed nothing, and fail what launches more")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
