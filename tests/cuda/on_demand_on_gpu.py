#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sonde from its tarball on a machine with a GPU and a torch of its own: torch build, run, trigger, ring.

    tests/cuda/on_demand_on_gpu.py TARBALL

Prints what each part did, and exits with 1 if one of them is not as it should be. Takes some two minutes.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TRAINING = r"""
import sys, time
import torch
torch.manual_seed(0)
slow, steps, ready = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(steps):
    optimizer.zero_grad()
    model(torch.randn(256, 512, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    if step == slow: time.sleep(0.5)
    if step == 20: open(ready, "w").close()
    time.sleep(0.005)
raise SystemExit(3)
"""
failed = []


def check(claim: str, holds: bool, seen: object = ""):
    print("ok    " if holds else "FAILED", claim, seen, flush=True)
    if not holds:
        failed.append(claim)


def sql(sonde: Path, trace: Path, query: str) -> list:
    done = subprocess.run([sonde, "sql", trace, "--format", "json", query], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def describe(sonde: Path, trace: Path) -> dict:
    """Numbers of operators, kernels, linked kernels and steps; the length in ms; the names of kernels."""
    row = sql(sonde, trace, """SELECT sum(kind = 'cpu_op') AS operators, sum(kind = 'kernel') AS kernels,
        sum(kind = 'kernel' AND launch IS NOT NULL) AS linked,
        count(DISTINCT CASE WHEN name LIKE 'ProfilerStep#%' THEN name END) AS steps,
        (max(end_ns) - min(start_ns)) / 1000000 AS ms FROM spans""")[0]
    names = sql(sonde, trace, "SELECT DISTINCT name FROM spans WHERE kind = 'kernel'")
    return row | {"names": {item["name"] for item in names}}


def tell(facts: dict) -> str:
    return str({key: value for key, value in facts.items() if key != "names"} | {"kernel names": len(facts["names"])})


@contextlib.contextmanager
def training(folder: Path, prefix: list, environment: dict, slow: int = -1, steps: int = 100000):
    """The process of the program, after its first steps."""
    ready = folder / "ready"
    ready.unlink(missing_ok=True)
    program = folder / "training.py"
    program.write_text(TRAINING, encoding="utf-8")
    process = subprocess.Popen([*prefix, sys.executable, program, str(slow), str(steps), ready], cwd=folder,
                               env=os.environ | environment)
    try:
        while not ready.exists() and process.poll() is None:
            time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def trigger(sonde: Path, folder: Path, *options: str) -> list:
    began = time.monotonic()
    done = subprocess.run([sonde, "trigger", *options, "-o", folder], capture_output=True, text=True)
    print(f"       sonde trigger {' '.join(options)}: status {done.returncode} after {time.monotonic() - began:.1f} s",
          done.stderr.strip())
    return [Path(line) for line in done.stdout.splitlines() if line.endswith(".json")]


def from_the_tarball(sonde: Path, folder: Path):
    print("== torch build, and a program from the tarball")
    built = subprocess.run([sonde, "torch", "build", "--python", sys.executable], capture_output=True, text=True)
    check("sonde torch build works", built.returncode == 0, built.stdout.strip() + built.stderr.strip())
    subprocess.run([sonde, "doctor"], check=False)
    trace = folder / "train.sonde"
    run = subprocess.run([sonde, "run", "--gpu", "--shapes", "-o", trace, "--", sys.executable, HERE / "train.py",
                          "--steps", "20"], check=False)
    check("sonde run --gpu ends with the program's status", run.returncode == 0, run.returncode)
    facts = describe(sonde, trace)
    check("it has operators and linked kernels", facts["operators"] > 1000 and facts["linked"] > 100, tell(facts))
    subprocess.run([sonde, "report", trace], check=False)
    subprocess.run([sonde, "table", trace, "--sort-by", "self_device_time_total", "--row-limit", "5"], check=False)


def torchs_own(sonde: Path, folder: Path) -> set:
    print("== sonde trigger, and torch's own profiler")
    with training(folder, [], {"KINETO_USE_DAEMON": "1"}) as process:
        traces = trigger(sonde, folder / "torch", "--pid", str(process.pid), "--for", "500ms", "--shapes")
        check("one trace by time", len(traces) == 1, traces)
        by_time = describe(sonde, traces[0]) if traces else {"names": set(), "ms": 0, "kernels": 0}
        check("it has kernels of half a second", by_time["kernels"] > 100 and 300 < by_time["ms"] < 1500, tell(by_time))
        time.sleep(6)
        traces = trigger(sonde, folder / "torch", "--pid", str(process.pid), "--steps", "3")
        check("one trace by steps, beside the first", len(traces) == 1 and "trace-2" in traces[0].name, traces)
        if traces:
            print("      ", tell(describe(sonde, traces[0])))
    return by_time["names"]


def sondes(sonde: Path, folder: Path, names: set):
    print("== sonde trigger, and sonde run --on-demand")
    prefix = [sonde, "run", "--gpu", "--on-demand", "-o", folder / "demand.sonde", "--"]
    with training(folder, prefix, {"KINETO_USE_DAEMON": "1"}):
        traces = trigger(sonde, folder / "sonde", "--for", "500ms", "--shapes")
        check("one trace by time", len(traces) == 1, traces)
        if traces:
            facts = describe(sonde, traces[0])
            check("it has kernels of half a second", facts["kernels"] > 100 and 300 < facts["ms"] < 1500, tell(facts))
            check("all of them are linked", facts["linked"] >= 0.98 * facts["kernels"], facts["linked"])
            check("the kernels are those of torch's trace", facts["names"] == names, facts["names"] ^ names)
        traces = trigger(sonde, folder / "sonde", "--steps", "3")
        facts = describe(sonde, traces[0]) if traces else {"steps": 0, "names": set()}
        check("three steps if three are asked for", facts["steps"] == 3, tell(facts))
    check("no recording besides", not list(folder.glob("demand*.sonde")), list(folder.glob("demand*")))


def child_of(parent: int) -> int:
    """The program that `sonde run` started; its other children are copies of itself."""
    listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=True)
    return next(pid for pid in map(int, listed.stdout.split())
                if os.path.samefile(f"/proc/{pid}/exe", sys.executable))


def rings(sonde: Path, folder: Path):
    print("== the ring")
    prefix = [sonde, "run", "--gpu", "--ring", "5s", "--dump-on", "slow-step:5x,signal:USR2,crash,exit!=0", "-o",
              folder / "ring.sonde", "--"]
    with training(folder, prefix, {}, slow=60, steps=300) as process:
        while process.poll() is None and not (folder / "ring.001.sonde").exists():
            time.sleep(0.1)
        os.kill(child_of(process.pid), signal.SIGUSR2)
        check("the program's status is that of sonde run", process.wait() == 3, process.returncode)
    dumps = sorted(folder.glob("ring*.sonde"))
    check("one dump for each reason", len(dumps) == 3, [dump.name for dump in dumps])
    for dump in dumps:
        facts = describe(sonde, dump)
        check("it has linked kernels", facts["linked"] > 20, tell(facts))
        info = subprocess.run([sonde, "info", dump], capture_output=True, text=True, check=False).stdout
        print(*["       " + line for line in info.splitlines()[:6]], sep="\n")


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with tarfile.open(sys.argv[1]) as archive:
            archive.extractall(folder / "unpacked")
        sonde = next((folder / "unpacked").glob("*/bin/sonde"))
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        print(Path("/etc/os-release").read_text(encoding="utf-8").splitlines()[0], os.confstr("CS_GNU_LIBC_VERSION"))
        subprocess.run([sonde, "--version"], check=True)
        from_the_tarball(sonde, folder)
        sondes(sonde, folder, torchs_own(sonde, folder))
        rings(sonde, folder)
        print("== what the ring costs a training step")
        subprocess.run([sys.executable, HERE.parent.parent / "bench/ring.py", sonde, "--python", sys.executable, "--device",
                        "cuda", "--kinds", "transformer", "--rounds", "3", "--steps", "30"], check=False)
    print(f"{len(failed)} checks failed: {failed}" if failed else "all checks hold")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
