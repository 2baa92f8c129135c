#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a job of many large ranks from the traces of a few real ones, for `sonde job`.

    bench/make_ranks.py tests/data/torch-2.11-h200/ranks4 OUT --ranks 64 --megabytes 87

Each rank repeats the events of a real one, one copy after the other, with steps numbered on; every rank
has a clock of its own. The groups become one world of all ranks.
"""

import argparse
import gzip
import json
import random
from pathlib import Path


def load(path: Path) -> dict:
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return json.load(file)


def repeated(events: list[dict], copies: int) -> list[dict]:
    timed = [e for e in events if "ts" in e and e.get("ph") != "M"]
    first = min(e["ts"] for e in timed)
    length = max(e["ts"] + e.get("dur", 0) for e in timed) - first + 1000
    steps = [e["name"] for e in timed if e["name"].startswith("ProfilerStep#")]
    count = len(set(steps))
    out = [e for e in events if "ts" not in e or e.get("ph") == "M"]
    for copy in range(copies):
        for event in timed:
            event = dict(event, ts=event["ts"] + copy * length)
            if event["name"].startswith("ProfilerStep#"):
                event["name"] = f"ProfilerStep#{int(event['name'][13:]) + copy * count}"
            if "id" in event:
                event["id"] += copy * 10_000_000
            args = event.get("args")
            if args and "correlation" in args:
                event["args"] = dict(args, correlation=args["correlation"] + copy * 10_000_000)
            out.append(event)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a folder of real ranks")
    parser.add_argument("out", type=Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--megabytes", type=float, default=87)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sources = sorted(options.source.glob("*rank*.json*"))
    chance = random.Random(1)
    for place, source in enumerate(sources):
        trace = load(source)
        events = trace.pop("traceEvents")
        copies = max(1, round(options.megabytes * 1e6 / len(json.dumps(events))))
        text = json.dumps(repeated(events, copies))
        base = trace.get("baseTimeNanoseconds", 0)
        for rank in range(place, options.ranks, len(sources)):
            trace["distributedInfo"].update(rank=rank, world_size=options.ranks)
            trace["distributedInfo"]["pg_config"] = [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": options.ranks,
                                                      "ranks": list(range(options.ranks))}]
            trace["baseTimeNanoseconds"] = base + round(chance.uniform(-5e6, 5e6))
            with open(options.out / f"rank{rank}.json", "w", encoding="utf-8") as file:
                file.write(json.dumps(trace)[:-1] + ', "traceEvents": ' + text + "}")


if __name__ == "__main__":
    main()
