#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether `sonde job` says the same of a recorded job whose clocks and files are disturbed.

    bench/job_disturbed.py build/release/bin/sonde 'tests/data/torch-2.11-h200/ranks8/slow_loader.*'
    bench/job_disturbed.py SONDE RANKS --trials 50 --first 1

Each trial gives every rank a clock that is up to 50 ms and 50 ppm off, leaves some ranks out (never the one
that is named, and never all but one), cuts the first part of some recordings off, and renames the files so
that they come in another order. The verdict must name the same rank and cause, or nobody, as that of the files
as they are; if nothing was cut or left out, a step must cost the same to 10 %. The true offsets must lie within
the bounds; they are known because all ranks were recorded on one host.
"""

import argparse
import glob
import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def load(path: str) -> dict:
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        return json.load(file)


def is_timed(event: dict) -> bool:
    return "ts" in event and event.get("ph") != "M"


def begin_of(trace: dict) -> float:
    return min(event["ts"] for event in trace["traceEvents"] if is_timed(event))


def end_of(trace: dict) -> float:
    return max(event["ts"] + event.get("dur", 0) for event in trace["traceEvents"] if is_timed(event))


def disturbed(trace: dict, offset_us: float, drift: float, from_us: float, origin_us: float) -> dict:
    events = []
    for event in trace["traceEvents"]:
        if is_timed(event):
            if event["ts"] < from_us:
                continue
            event = dict(event, ts=event["ts"] + offset_us + drift * (event["ts"] - origin_us))
            if "dur" in event:
                event["dur"] *= 1 + drift
        events.append(event)
    return dict(trace, traceEvents=events)


def answer_of(sonde: str, folder) -> dict:
    done = subprocess.run([sonde, "job", str(folder), "--format", "json"], capture_output=True, check=False)
    if done.returncode != 0:
        return {"failed": done.stderr.decode()}
    return json.loads(done.stdout)


def named(answer: dict):
    verdict = answer.get("verdict")
    return (verdict["rank"], verdict["cause"], verdict["name"]) if verdict else None


class Trial:
    def __init__(self, traces: dict, culprit, seed: int):
        chance = random.Random(seed)
        world = sorted(traces)
        removable = [rank for rank in world if rank != culprit]
        some = chance.random() < 0.5
        self.missing = chance.sample(removable, chance.randint(1, max(1, len(world) // 3))) if some else []
        self.clocks = {rank: (chance.uniform(-50e3, 50e3), chance.uniform(-50e-6, 50e-6)) for rank in world}
        steps = sum(1 for e in traces[world[0]]["traceEvents"] if str(e.get("name", "")).startswith("ProfilerStep#")
                    and e.get("cat") == "user_annotation")
        cuts = chance.random() < 0.5 and steps > 3
        self.cut = {rank: chance.uniform(0, 0.4) for rank in world if cuts and chance.random() < 0.4}
        self.order = world[:]
        chance.shuffle(self.order)

    def write(self, traces: dict, folder: Path):
        origin = min(begin_of(trace) for trace in traces.values())
        for place, rank in enumerate(self.order):
            if rank in self.missing:
                continue
            trace = traces[rank]
            begin, end = begin_of(trace), end_of(trace)
            new = disturbed(trace, *self.clocks[rank], begin + self.cut.get(rank, 0) * (end - begin), origin)
            (folder / f"{place:03}.json").write_text(json.dumps(new), encoding="utf-8")

    def wrong_bounds(self, answer: dict, origin_ns: float, totals: dict) -> list:
        wrong = []
        rows = answer["clocks"]
        first = self.clocks[rows[0]["rank"]]
        for row in rows:
            offset, drift = self.clocks[row["rank"]]
            # The local time of the row, to the true time, to the first rank's time.
            true = (row["at_ns"] - offset * 1e3 - origin_ns) / (1 + drift) + origin_ns
            wanted = true + first[0] * 1e3 + first[1] * (true - origin_ns) - row["at_ns"]
            totals["clocks"] += 1
            totals["within"] += abs(row["offset_ns"] - wanted) <= row["error_ns"] + 2000
            low = row["low_ns"] is None or row["low_ns"] <= wanted + 2000
            high = row["high_ns"] is None or wanted - 2000 <= row["high_ns"]
            if not (low and high):
                wrong.append(f"rank {row['rank']}: {wanted:.0f} is not in {row['low_ns']} to {row['high_ns']}")
        return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sonde")
    parser.add_argument("ranks", help="a folder or a pattern")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    paths = sorted(glob.glob(options.ranks + "/*" if Path(options.ranks).is_dir() else options.ranks))
    traces = {}
    for path in paths:
        trace = load(path)
        traces[trace["distributedInfo"]["rank"]] = trace
    plain = answer_of(options.sonde, options.ranks)
    wanted = named(plain)
    print("as it is:", wanted)
    bad = 0
    totals = {"clocks": 0, "within": 0}
    for seed in range(options.first, options.first + options.trials):
        trial = Trial(traces, wanted[0] if wanted else None, seed)
        folder = Path(tempfile.mkdtemp(prefix="disturbed_"))
        try:
            trial.write(traces, folder)
            answer = answer_of(options.sonde, folder)
        finally:
            shutil.rmtree(folder)
        wrong = []
        if "failed" in answer:
            wrong.append(answer["failed"])
        else:
            if named(answer) != wanted:
                wrong.append(f"says {named(answer)}")
            elif wanted and not trial.cut and not trial.missing:
                ratio = answer["verdict"]["per_step_ns"] / plain["verdict"]["per_step_ns"]
                if abs(ratio - 1) > 0.1:
                    wrong.append(f"the cost is {ratio:.2f} of what it was")
            base = traces[trial.order[0]].get("baseTimeNanoseconds", 0)
            wrong += trial.wrong_bounds(answer, min(begin_of(t) for t in traces.values()) * 1e3 + base, totals)
        bad += bool(wrong)
        if wrong:
            print(f"trial {seed}: missing {sorted(trial.missing)}, cut {({r: round(c, 2) for r, c in trial.cut.items()})}")
            for line in wrong:
                print("       ", line)
    print(f"{options.trials - bad} of {options.trials} say the same; {totals['within']} of {totals['clocks']} true offsets "
          "are within the stated errors")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
