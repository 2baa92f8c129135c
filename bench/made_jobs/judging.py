# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether `sonde job` says the truth."""

import fnmatch
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from made_jobs.cases import cases
from made_jobs.files import make


def mix_formats(case, folder, sonde):
    if not case.sonde_every:
        return
    for path in sorted(folder.glob("rank*.json")):
        number = int(path.stem[4:])
        if number % case.sonde_every:
            continue
        subprocess.run([sonde, "export", str(path), "-o", str(path.with_suffix(".sonde"))], check=True,
                       stdout=subprocess.DEVNULL)
        path.unlink()


def judge(case, truth, answer, totals):
    wrong = []
    verdict = answer["verdict"]
    if case.hang >= 0:
        if not answer["hangs"]:
            wrong.append("no hang is seen")
        elif case.hang not in answer["hangs"][0]["absent"]:
            wrong.append(f"hang: absent are {answer['hangs'][0]['absent']}, not {case.hang}")
        elif len(answer["hangs"][0]["absent"]) > 1:
            wrong.append(f"hang: too many are absent: {answer['hangs'][0]['absent']}")
        if verdict:
            wrong.append(f"a verdict on rank {verdict['rank']} although nobody was slow")
    elif not case.culprits:
        if verdict:
            wrong.append(f"names rank {verdict['rank']} ({verdict['cause']}, {verdict['name']}, "
                         f"{verdict['per_step_ns']/1e6 if verdict['per_step_ns'] else 0:.2f} ms) though nobody is to blame")
    elif not verdict:
        if not case.may_be_silent:
            worst = answer["suspects"][:3]
            wrong.append("names nobody; suspects: " + ", ".join(
                f"{s['rank']} {s['cause']} {s['share']:.3f}" for s in worst))
    else:
        if verdict["rank"] not in case.culprits:
            wrong.append(f"names rank {verdict['rank']} ({verdict['cause']}, {verdict['name']})")
        elif verdict["cause"] not in case.causes:
            wrong.append(f"cause is {verdict['cause']} ({verdict['name']}), not {case.causes}: " + "; ".join(
                f"{c['cause']} {c['name'][:30] if c['name'] else ''} {c['share']:.2f}" for c in verdict["causes"][:4]))
        elif case.names and verdict["name"] not in case.names:
            wrong.append(f"name is {verdict['name']}")
        if case.cost and not case.missing and verdict["per_step_ns"] is not None:
            ratio = verdict["per_step_ns"] / truth.per_step_ns if truth.per_step_ns else 0
            if not 0.85 <= ratio <= 1.15:
                wrong.append(f"a step costs {verdict['per_step_ns']/1e6:.2f} ms, truth {truth.per_step_ns/1e6:.2f} ms")
    replay = answer["replay"]
    if replay:
        totals["replays"].append(replay["error"])
        if case.culprits and case.cost and verdict and not case.missing and verdict["rank"] in case.culprits:
            mended = replay["measured_step_ns"] - truth.per_step_ns
            low, high = replay["without_culprits_step_ns"], replay["without_culprits_kept_step_ns"]
            nearest = min((low / mended - 1, high / mended - 1), key=abs)
            off = 0.0 if low <= mended <= high else nearest  # what is said is a range
            totals["mended"].append((abs(off), case.name))
            if abs(off) > 0.10:
                wrong.append(f"replay without it is {100*off:+.1f} % off")
    else:
        totals["refused"].append((case.name, answer["replay_refused"]))
    bar = bounds = rows = 0
    for clock in answer["clocks"]:
        true = truth.offsets[clock["rank"]]
        if not clock["aligned"] and not case.is_joined:
            continue
        rows += 1
        if abs(clock["offset_ns"] - true) <= clock["error_ns"] + 1:
            bar += 1
        low_ok = clock["low_ns"] is None or clock["low_ns"] <= true + 2
        high_ok = clock["high_ns"] is None or true - 2 <= clock["high_ns"]
        if low_ok and high_ok:
            bounds += 1
        elif len(wrong) < 5:
            wrong.append(f"rank {clock['rank']}: true offset {true:.0f} is not in [{clock['low_ns']}, {clock['high_ns']}]")
        if not clock["aligned"]:
            wrong.append(f"rank {clock['rank']} is not aligned")
    totals["rows"] += rows
    totals["bar"] += bar
    totals["bounds"] += bounds
    if bar < rows:
        totals["outside"].append((case.name, rows - bar, rows))
    return wrong


def check(options):
    some, large = cases()
    chosen = [c for c in some + (large if options.large else []) if fnmatch.fnmatch(c.name, options.only)]
    totals = {"rows": 0, "bar": 0, "bounds": 0, "replays": [], "mended": [], "refused": [], "outside": []}
    bad = 0
    for case in chosen:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            folder = Path(tempfile.mkdtemp(prefix="job_truth_"))
            try:
                truth = make(case, seed, folder)
                mix_formats(case, folder, options.sonde)
                begin = time.monotonic()
                done = subprocess.run([options.sonde, "job", str(folder), "--format", "json"], capture_output=True)
                took = time.monotonic() - begin
                if done.returncode != 0:
                    wrong = [f"status {done.returncode}: {done.stderr.decode()[:300]}"]
                else:
                    wrong = judge(case, truth, json.loads(done.stdout), totals)
            finally:
                shutil.rmtree(folder)
            bad += bool(wrong)
            print(f"{'WRONG' if wrong else 'right':6}{case.name:28} seed {seed}  {took:5.2f} s", flush=True)
            for line in wrong:
                print(f"        {line}", flush=True)
    rows = max(totals["rows"], 1)
    print(f"{bad} wrong; clocks: {totals['bar']} of {rows} within the error ({100*totals['bar']/rows:.2f} %), "
          f"{totals['bounds']} within the bounds")
    if totals["replays"]:
        print(f"replay with nothing changed: at most {100*max(totals['replays']):.2f} % off; refused: {totals['refused']}")
    if totals["mended"]:
        print("replay without the culprit: worst", sorted(totals["mended"], reverse=True)[:5])
    if totals["outside"]:
        print("outside the error:", totals["outside"])
    return 1 if bad or totals["bar"] < 0.99 * rows or totals["bounds"] < rows else 0
