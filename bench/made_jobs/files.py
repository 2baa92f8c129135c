# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the ranks of a job as PyTorch's profiler would, each with the clock of its host."""

import gzip
import json
import random
from dataclasses import dataclass

from made_jobs.case import EPOCH_NS
from made_jobs.simulation import groups_of, simulate


class Clocks:
    def __init__(self, case, seed):
        chance = random.Random(f"{seed} clocks")
        world = case.tp * case.dp * case.pp
        self.of = []
        for n in range(world):
            if n % case.per_host == 0:
                clock = (chance.uniform(-1, 1) * case.offset_ns, chance.uniform(-1, 1) * case.drift_ppm * 1e-6)
            self.of.append(clock)

    def local(self, n, true_ns):
        offset, drift = self.of[n]
        return true_ns + offset + drift * true_ns

    def true(self, n, local_ns):
        offset, drift = self.of[n]
        return (local_ns - offset) / (1 + drift)


def write_rank(case, rank, clocks, folder, pid):
    n = rank.number
    world = case.tp * case.dp * case.pp
    groups, of_rank = groups_of_cached(case)
    from_ns = 0.0
    if n in case.late_start:
        from_ns = case.late_start[n] * rank.host
    lines = []
    first, last = None, None
    for cat, name, begin, end, args, tid in rank.events:
        if begin < from_ns:
            continue
        b, e = clocks.local(n, begin), clocks.local(n, end)
        first = b if first is None else min(first, b)
        last = e if last is None else max(last, e)
        on_device = tid is not None
        lines.append('{"ph":"X","cat":"%s","name":%s,"pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":%s}' % (
            cat, json.dumps(name), n % 8 if on_device else pid, tid if on_device else pid, b / 1e3 + 1e6,
            max(0.0, e - b) / 1e3, json.dumps(args)))
    top = {"schemaVersion": 1, "baseTimeNanoseconds": EPOCH_NS,
           "deviceProperties": [{"id": n % 8, "name": "NVIDIA H200", "numSms": 132}]}
    if case.has_info:
        top["distributedInfo"] = {
            "backend": "nccl", "rank": n, "world_size": world}
    if case.has_info and case.has_groups:
        top["distributedInfo"].update({
            "pg_count": len(of_rank[n]),
            "pg_config": [{"pg_name": g["name"], "pg_desc": g["desc"], "backend_config": "cuda:nccl",
                           "pg_size": len(g["ranks"]), "ranks": g["ranks"]} for g in of_rank[n].values()]})
    text = json.dumps(top)[:-1] + ',"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"
    if case.names_hosts:
        name = f"node{n // case.per_host}_{pid}.17900000000{n % 100:02d}.pt.trace.json"
    else:
        name = f"rank{n}.json"
    path = folder / name
    if case.gz:
        path = folder / (name + ".gz")
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write(text)
    else:
        path.write_text(text, encoding="utf-8")
    return path, first, last


CACHE = {}


def groups_of_cached(case):
    key = (case.tp, case.dp, case.pp, case.group_prefix)
    if key not in CACHE:
        CACHE.clear()
        CACHE[key] = groups_of(case)
    return CACHE[key]


@dataclass
class Truth:
    per_step_ns: float
    offsets: dict
    extent: dict


def make(case, seed, folder):
    folder.mkdir(parents=True, exist_ok=True)
    ranks, with_fault = simulate(case, seed, case.faults)
    without = simulate(case, seed, [], records=False)[1] if case.faults and case.hang < 0 else with_fault
    clocks = Clocks(case, seed)
    extent = {}
    present = [r for r in ranks if r.number not in case.missing]
    for rank in present:
        _, first, last = write_rank(case, rank, clocks, folder, 4000 + rank.number)
        extent[rank.number] = (first, last)
        rank.events = []
    reference = present[0].number
    middle = sum(extent[reference]) / 2
    at = clocks.true(reference, middle)
    offsets = {r.number: clocks.local(reference, at) - clocks.local(r.number, at) for r in present}
    return Truth(with_fault - without, offsets, extent)
