#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs loader_both.py under `sonde run`: the same operators as torch saw in the process that trains, and those of
the workers, which torch does not see.

    check_loader.py SONDE [PYTHON, default /usr/bin/python3]

Exits with 77 where that Python has no torch.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def names_in(sonde: str, recording: pathlib.Path) -> list[tuple[str, float, float]]:
    exported = recording.with_suffix(".json")
    subprocess.run([sonde, "export", str(recording), "-o", str(exported)], check=True)
    events = json.loads(exported.read_text())["traceEvents"]
    # Steps are inferred by `sonde run`; torch knows of none.
    return [(e["name"], e["ts"], e["dur"]) for e in events
            if e.get("cat") in ("cpu_op", "user_annotation") and not e["name"].startswith(("ProfilerStep#", "after the last step"))]


def within_mark(events) -> collections.Counter:
    _, begin, duration = next(e for e in events if e[0] == "both see this")
    return collections.Counter(name for name, ts, _ in events if begin <= ts <= begin + duration)


def main() -> int:
    sonde, python = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "/usr/bin/python3"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"skipped: {python} has no torch (Debian: python3-torch)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = pathlib.Path(__file__).with_name("loader_both.py")
        subprocess.run([sonde, "run", "-o", str(folder / "{pid}.sonde"), "--", python, program, folder / "counts.json"],
                       check=True)
        told = json.loads((folder / "counts.json").read_text())
        theirs = collections.Counter(told["counts"])
        ours = within_mark(names_in(sonde, folder / f"{told['process']}.sonde"))
        assert ours == theirs, f"only Sonde: {ours - theirs}; only torch: {theirs - ours}"
        loaded = [dict(collections.Counter(name for name, _, _ in names_in(sonde, folder / f"{pid}.sonde")))
                  for pid in told["workers"]]
        assert len(loaded) == 2 and all("aten::square" in counts for counts in loaded), loaded
        assert sum(counts["aten::square"] for counts in loaded) == told["items"], loaded
    in_workers = sum(sum(counts.values()) for counts in loaded)
    print(f"{sum(ours.values())} operators of {len(ours)} names in the process, {in_workers} in its workers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
