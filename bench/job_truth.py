#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs whose truth is known, as files of all ranks, and whether `sonde job` finds it.

    bench/job_truth.py list                               the cases
    bench/job_truth.py make CASE OUT [--seed 3]           write the files of a case
    bench/job_truth.py check build/release/bin/sonde      make, analyse and judge all cases
    bench/job_truth.py check SONDE --only 'pp_*' --seeds 5

A small simulation runs the ranks: hosts launch kernels, streams run them in order, collectives end when all
have arrived, and each host has a clock with an offset and a drift. It knows what a fault costs, because it
also runs the job without the fault. The files look like those that PyTorch's profiler writes with NCCL.

A case is right if the verdict names the rank and the cause (or nobody), if the cost of a step is right to
15 %, and if all true offsets lie within the bounds. Over all cases, 99 % must lie within the stated errors.
"""

import argparse
import fnmatch
import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

MS = 1e6
US = 1e3
EPOCH_NS = 1_790_000_000_000_000_000


@dataclass
class Fault:
    """What `rank` does longer in steps that `when` accepts."""

    rank: int
    kind: str  # load, gc, unmarked, kernel, kernels, extra, copy, operator
    ns: float = 20 * MS
    when: Callable[[int], bool] = lambda step: True
    factor: float = 2.0


@dataclass
class Case:
    name: str
    tp: int = 1
    dp: int = 8
    pp: int = 1
    steps: int = 8
    layers: int = 2
    microbatches: int = 1
    per_host: int = 8
    offset_ns: float = 50 * MS
    drift_ppm: float = 50
    jitter: float = 0.02  # of durations, relative
    host_jitter_ns: float = 100 * US
    tail: float = 0.0  # share of kernels that take 3 ms longer, anywhere
    end_lag_ns: float = 0  # of each rank, always, exponential
    overlap: bool = True  # gradients are reduced while the backward pass runs
    sync: bool = True  # a step ends with waiting for the device
    stage_work: tuple = ()  # relative work of the stages
    faults: list = field(default_factory=list)
    # Of the files:
    names_hosts: bool = False
    has_steps: bool = True
    has_info: bool = True
    has_groups: bool = True
    has_seq: bool = False
    missing: tuple = ()
    late_start: dict = field(default_factory=dict)  # rank: share of the time that is not recorded
    hang: int = -1  # this rank never arrives at the last collective
    group_prefix: str = ""
    gz: bool = False
    sonde_every: int = 0  # every n-th rank as a .sonde file
    # The truth:
    culprits: tuple = ()  # any of these ranks may be named first; empty: nobody
    causes: tuple = ()
    names: tuple = ()
    cost: bool = True  # whether the cost of a step is checked
    expect_error: str = ""
    may_be_silent: bool = False  # nobody may be named as well
    is_joined: bool = True  # whether collectives can join all ranks


class Rank:
    """One rank while it is simulated: times of its host and streams, and its events."""

    def __init__(self, case, number, chance, records=True):
        self.case = case
        self.number = number
        self.chance = chance
        self.host = 0.0
        self.compute = 0.0
        self.comm = {}
        self.events = []
        self.correlation = 1
        self.external = 1
        self.seq = {}
        self.records = records
        self.step_begin = []

    def vary(self, ns):
        return max(0.0, ns * (1 + self.case.jitter * self.chance.gauss(0, 1)))

    def span(self, cat, name, begin, end, args=None, tid=None):
        if self.records:
            self.events.append((cat, name, begin, end, args or {}, tid))

    def range(self, name, ns):
        begin = self.host
        self.host += ns
        self.span("user_annotation", name, begin, self.host)

    def launch(self, op, name, ns, kind="kernel"):
        begin = self.host
        self.host += 8 * US
        call = self.host
        self.host += 6 * US
        ns = self.vary(ns)
        if self.case.tail and self.chance.random() < self.case.tail:
            ns += 3 * MS
        start = max(self.compute, call + 4 * US)
        self.compute = start + ns
        c = self.correlation
        self.correlation += 1
        self.external += 1
        self.span("cuda_runtime", "cudaLaunchKernel" if kind == "kernel" else "cudaMemcpyAsync", call, self.host,
                  {"cbid": 211, "correlation": c, "External id": self.external})
        self.host += 4 * US
        self.span("cpu_op", op, begin, self.host, {"External id": self.external})
        cat = "kernel" if kind == "kernel" else "gpu_memcpy"
        self.span(cat, name, start, self.compute,
                  {"device": self.number % 8, "stream": 7, "correlation": c, "External id": self.external}, 7)

    def collective(self, group, name, elements, peer=None, blocking=True):
        """Yields its arrival and goes on with the end."""
        begin = self.host
        self.host += 10 * US
        call = self.host
        self.host += 8 * US
        stream = 20 + group["stream"]
        arrival = max(self.compute, self.comm.get(stream, 0.0), call + 4 * US)
        is_p2p = peer is not None
        counter = (group["name"], is_p2p)
        seq = self.seq[counter] = self.seq.get(counter, 0) + 1
        if is_p2p:
            pair = (self.number, peer) if name == "send" else (peer, self.number)
            counter = ("pair", group["name"], pair)
            place = self.seq[counter] = self.seq.get(counter, 0) + 1
            key = ("p2p", group["name"], pair, place)
            members = 2
        else:
            key = (group["name"], seq)
            members = len(group["ranks"])
        end = yield key, members, arrival, transfer_of(elements), self.number
        c = self.correlation
        self.correlation += 1
        self.external += 1
        kernel = {"allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "_reduce_scatter_base": "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "_allgather_base": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "send": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                  "recv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}[name]
        args = {"Collective name": name, "In msg nelems": elements, "Out msg nelems": elements,
                "Group size": len(group["ranks"]), "dtype": "Float", "In split size": "[]", "Out split size": "[]"}
        if self.case.has_groups:
            ranks = group["ranks"]
            shown = ", ".join(map(str, ranks[:30])) + (", ..." if len(ranks) > 30 else "")
            stride = ranks[1] - ranks[0] if len(ranks) > 1 else 0
            args.update({"Process Group Name": group["name"], "Process Group Description": group["desc"],
                         "Process Group Ranks": f"[{shown}]", "Global rank start": ranks[0],
                         "Global rank stride": stride})
        if is_p2p:
            args.update({"Src Rank": pair[0], "Dst Rank": pair[1]})
        if self.case.has_seq:
            args["Seq"] = seq
        self.span("cuda_runtime", "cudaLaunchKernelExC", call, self.host,
                  {"cbid": 430, "correlation": c, "External id": self.external})
        self.host += 5 * US
        self.span("cpu_op", "record_param_comms", begin + 3 * US, self.host - 1 * US,
                  dict(args, **{"External id": self.external}))
        self.span("cpu_op", f"c10d::{name}", begin, self.host, {"External id": self.external - 1})
        if end is None:  # it never ended, and so the kernel is not recorded
            self.is_stuck = True
            raise Stuck()
        self.span("kernel", kernel, arrival, end,
                  dict(args, **{"device": self.number % 8, "stream": stream, "correlation": c,
                                "External id": self.external}), stream)
        self.comm[stream] = end
        if blocking:
            self.compute = max(self.compute, end)

    def wait(self):
        begin = self.host
        self.host = max(self.host + 5 * US, self.compute, *self.comm.values()) if self.comm else max(
            self.host + 5 * US, self.compute)
        self.span("cuda_runtime", "cudaDeviceSynchronize", begin, self.host, {"cbid": 165, "correlation": self.correlation})
        self.correlation += 1


class Stuck(Exception):
    pass


def transfer_of(elements):
    return 20 * US + elements * 4 / 100e9 * 1e9


def groups_of(case):
    """Megatron's order of ranks: tensor, data, pipeline."""
    tp, dp, pp = case.tp, case.dp, case.pp
    number = lambda t, d, p: t + tp * (d + dp * p)
    world = list(range(tp * dp * pp))
    groups = {"world": {0: {"name": case.group_prefix + "0", "desc": "default_pg", "ranks": world, "stream": 0}}}
    count = 1
    for kind, lists in (
        ("tp", [[number(t, d, p) for t in range(tp)] for p in range(pp) for d in range(dp)]),
        ("dp", [[number(t, d, p) for d in range(dp)] for p in range(pp) for t in range(tp)]),
        ("pp", [[number(t, d, p) for p in range(pp)] for d in range(dp) for t in range(tp)]),
    ):
        groups[kind] = {}
        for place, ranks in enumerate(lists):
            groups[kind][place] = {"name": case.group_prefix + str(count), "desc": kind, "ranks": ranks,
                                   "stream": {"tp": 1, "dp": 2, "pp": 3}[kind]}
            count += 1
    of_rank = {}
    for r in world:
        of_rank[r] = {}
        for kind, places in groups.items():
            for group in places.values():
                if r in set(group["ranks"]) if len(group["ranks"]) < 40 else r in group["ranks"]:
                    of_rank[r][kind] = group
                    break
    return groups, of_rank


def program(rank, groups, faults):
    """What a rank does, as a generator of collectives."""
    case, n = rank.case, rank.number
    stage = n // (case.tp * case.dp)
    work = case.stage_work[stage] if case.stage_work else 1.0
    has = lambda kind: len(groups[kind]["ranks"]) > 1
    before = n - case.tp * case.dp
    after = n + case.tp * case.dp

    def fault(kind, step):
        return sum(f.ns for f in faults if f.rank == n and f.kind == kind and f.when(step))

    def slower(step):
        slow = 1.0
        for f in faults:
            if f.rank == n and f.kind == "kernels" and f.when(step):
                slow *= f.factor
        return slow

    def layer(step, backward):
        slow = slower(step) * work * (2 if backward else 1)
        rank.launch("aten::mm", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64", 1.2 * MS * slow
                    + (fault("kernel", step) / (case.layers * case.microbatches) if not backward else 0))
        rank.launch("aten::gelu", "void at::native::vectorized_elementwise_kernel<4, GeluCUDAKernelImpl>", 0.2 * MS * slow)
        if has("tp"):
            yield from rank.collective(groups["tp"], "allreduce", 1 << 20)
        rank.launch("aten::add", "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>", 0.1 * MS * slow)

    for step in range(case.steps):
        begin = rank.host
        rank.step_begin.append(begin)
        load = 1.0 * MS + abs(rank.chance.gauss(0, 1)) * case.host_jitter_ns
        rank.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", load + fault("load", step))
        if fault("gc", step):
            rank.range("gc.collect", fault("gc", step))
        rank.host += fault("unmarked", step)
        if fault("operator", step):
            start = rank.host
            rank.host += fault("operator", step)
            rank.span("cpu_op", "aten::nonzero", start, rank.host, {})
        rank.launch("aten::copy_", "Memcpy HtoD (Pageable -> Device)", 0.3 * MS + fault("copy", step), "copy")
        if fault("extra", step):
            rank.launch("aten::bmm", "extra_products_kernel", fault("extra", step))
        forward = rank.host
        for _ in range(case.microbatches):
            if has("pp") and stage > 0:
                yield from rank.collective(groups["pp"], "recv", 1 << 18, peer=before)
            for _ in range(case.layers):
                yield from layer(step, False)
            if has("pp") and stage < case.pp - 1:
                yield from rank.collective(groups["pp"], "send", 1 << 18, peer=after)
        rank.span("user_annotation", "forward", forward, rank.host)
        for micro in range(case.microbatches):
            if has("pp") and stage < case.pp - 1:
                yield from rank.collective(groups["pp"], "recv", 1 << 18, peer=after)
            for _ in range(case.layers):
                yield from layer(step, True)
                if has("dp") and micro == case.microbatches - 1:
                    yield from rank.collective(groups["dp"], "allreduce", 1 << 22, blocking=not case.overlap)
            if has("pp") and stage > 0:
                yield from rank.collective(groups["pp"], "send", 1 << 18, peer=before)
        if rank.comm:
            rank.compute = max(rank.compute, *rank.comm.values())
        start = rank.host
        rank.launch("aten::_foreach_add_", "void at::native::multi_tensor_apply_kernel<AdamFunctor>", 0.5 * MS)
        rank.span("user_annotation", "Optimizer.step#AdamW.step", start, rank.host)
        if case.hang == n and step == case.steps - 1:
            rank.range("save_checkpoint", 30 * MS)
            return
        hangs = case.hang >= 0 and step == case.steps - 1
        if case.pp > 1 or step % 4 == 3 or hangs:  # the norm of all gradients, the loss of all ranks
            yield from rank.collective(groups["world"], "allreduce", 1)
        if case.sync:
            rank.wait()
        if case.has_steps:
            rank.span("user_annotation", f"ProfilerStep#{step + 10}", begin, rank.host)


def simulate(case, seed, faults, records=True):
    """The ranks after the job, and the time of a step."""
    _, of_rank = groups_of(case)
    world = case.tp * case.dp * case.pp
    ranks, running = [], []
    lags = random.Random(f"{seed} lag")
    lag = [lags.expovariate(1 / case.end_lag_ns) if case.end_lag_ns else 0.0 for _ in range(world)]
    ends = random.Random(f"{seed} ends")
    for n in range(world):
        rank = Rank(case, n, random.Random(f"{seed} {n}"), records)
        ranks.append(rank)
        running.append(program(rank, of_rank[n], faults))
    waiting = {}
    ready = [(n, None) for n in range(world)]
    while ready:
        n, value = ready.pop()
        try:
            key, members, arrival, transfer, _ = running[n].send(value)
        except StopIteration:
            continue
        except Stuck:
            continue
        arrived = waiting.setdefault(key, {})
        arrived[n] = arrival
        if len(arrived) == members:
            done = max(arrived.values()) + transfer
            for m in sorted(arrived):
                end = done + lag[m] + ends.expovariate(1 / (4 * US))
                if ends.random() < 0.02:
                    end += ends.expovariate(1 / (100 * US))
                ready.append((m, end))
            del waiting[key]
    if waiting and case.hang < 0:
        raise RuntimeError(f"{case.name}: ranks are stuck")
    for arrived in waiting.values():
        for m in arrived:
            try:
                running[m].send(None)
            except (Stuck, StopIteration):
                pass
    begins = [r.step_begin for r in ranks]
    length = max(r.host for r in ranks) - min(b[0] for b in begins)
    return ranks, length / case.steps


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


# ---- cases ----

LOADER = ("data_loading",)


def cases():
    some = [
        Case("clean_8"),
        Case("clean_64", dp=64),
        Case("clean_tails", dp=16, tail=0.02),
        Case("clean_late_ends", dp=16, end_lag_ns=30 * US),
        Case("clean_noisy", dp=16, jitter=0.08, host_jitter_ns=1 * MS),
        Case("clean_tp_dp_pp", tp=2, dp=4, pp=4, microbatches=4),
        Case("clean_pp_uneven", dp=2, pp=4, microbatches=4, stage_work=(1.1, 1, 1, 1.15)),
        Case("clean_no_overlap", dp=16, overlap=False),
        Case("clean_no_sync", dp=16, sync=False),
        Case("clean_two_ranks", dp=2),
        Case("clean_tp8", tp=8, dp=4),
        Case("loader_8", faults=[Fault(5, "load")], culprits=(5,), causes=LOADER),
        Case("loader_64", dp=64, faults=[Fault(37, "load")], culprits=(37,), causes=LOADER),
        Case("loader_3ms", dp=16, steps=20, faults=[Fault(7, "load", 3 * MS)], culprits=(7,), causes=LOADER),
        Case("loader_no_sync", dp=16, sync=False, steps=12, faults=[Fault(7, "load", 30 * MS)], culprits=(7,), causes=LOADER,
             cost=False),
        Case("loader_two_ranks", dp=2, faults=[Fault(1, "load")], culprits=(1,), causes=LOADER),
        Case("kernel_64", dp=64, faults=[Fault(11, "kernel", 8 * MS)], culprits=(11,), causes=("kernel",)),
        Case("throttled_gpu", dp=16, faults=[Fault(3, "kernels", factor=1.6)], culprits=(3,), causes=("kernel",)),
        Case("throttled_gpu_overlap_off", dp=16, overlap=False, faults=[Fault(3, "kernels", factor=1.6)], culprits=(3,),
             causes=("kernel",)),
        Case("extra_products", dp=16, faults=[Fault(2, "extra", 6 * MS)], culprits=(2,), causes=("kernel",),
             names=("extra_products_kernel",)),
        Case("copies", dp=16, faults=[Fault(9, "copy", 6 * MS)], culprits=(9,), causes=("copy",)),
        Case("gc_marked", dp=16, steps=15, faults=[Fault(4, "gc", 40 * MS, lambda s: s % 5 == 3)], culprits=(4,),
             causes=("gc",)),
        Case("gc_unmarked", dp=16, steps=15, faults=[Fault(4, "unmarked", 40 * MS, lambda s: s % 5 == 3)], culprits=(4,),
             causes=("host",)),
        Case("operator_on_host", dp=16, faults=[Fault(4, "operator", 10 * MS)], culprits=(4,), causes=("operator",),
             names=("aten::nonzero",)),
        Case("tp_dp_kernel", tp=4, dp=4, faults=[Fault(6, "kernel", 8 * MS)], culprits=(6,), causes=("kernel",)),
        Case("tp_dp_loader", tp=4, dp=4, faults=[Fault(6, "load")], culprits=(6,), causes=LOADER),
        Case("tp8_dp8_loader", tp=8, dp=8, faults=[Fault(19, "load")], culprits=(19,), causes=LOADER),
        Case("pp_kernel", dp=2, pp=4, microbatches=4, faults=[Fault(4, "kernel", 16 * MS)], culprits=(4,), causes=("kernel",)),
        Case("pp_only_kernel", dp=1, pp=4, microbatches=4, faults=[Fault(2, "kernel", 16 * MS)], culprits=(2,),
             causes=("kernel",), may_be_silent=True),
        Case("pp_loader_first_stage", dp=4, pp=4, microbatches=4, faults=[Fault(1, "load", 25 * MS)], culprits=(1,),
             causes=LOADER),
        Case("pp_throttled_middle", dp=4, pp=4, microbatches=4, faults=[Fault(9, "kernels", factor=1.8)], culprits=(9,),
             causes=("kernel",)),
        Case("tp_dp_pp_loader", tp=2, dp=4, pp=4, microbatches=4, faults=[Fault(13, "load", 25 * MS)], culprits=(13,),
             causes=LOADER),
        Case("tp_dp_pp_kernel_64", tp=4, dp=4, pp=4, microbatches=4, faults=[Fault(38, "kernel", 16 * MS)], culprits=(38,),
             causes=("kernel",)),
        Case("tp_dp_pp_copy", tp=2, dp=2, pp=2, microbatches=4, faults=[Fault(5, "copy", 12 * MS)], culprits=(5,),
             causes=("copy",)),
        Case("missing_ranks", dp=16, missing=(0, 3, 8), faults=[Fault(5, "load")], culprits=(5,), causes=LOADER),
        Case("missing_culprit", dp=16, missing=(5,), faults=[Fault(5, "load")]),
        Case("tp_missing", tp=4, dp=4, missing=(0, 7), faults=[Fault(6, "kernel", 8 * MS)], culprits=(6,), causes=("kernel",)),
        Case("late_start", dp=16, late_start={2: 0.3, 5: 0.4, 9: 0.13}, faults=[Fault(5, "load")], culprits=(5,),
             causes=LOADER, cost=False),
        Case("late_start_no_steps", dp=16, steps=12, has_steps=False, late_start={2: 0.3, 9: 0.13},
             faults=[Fault(5, "load", when=lambda s: s % 3 != 1)], culprits=(5,), causes=LOADER, cost=False),
        Case("late_start_seq", dp=16, has_seq=True, has_steps=False, late_start={2: 0.3, 9: 0.13},
             faults=[Fault(5, "load")], culprits=(5,), causes=LOADER, cost=False),
        Case("no_info", dp=16, has_info=False, faults=[Fault(5, "load")], culprits=(5,), causes=LOADER),
        Case("no_info_no_groups", dp=16, has_info=False, has_groups=False, faults=[Fault(5, "load")], culprits=(5,),
             causes=LOADER),
        Case("groups_not_recorded", tp=4, dp=4, has_groups=False, faults=[Fault(6, "load")], culprits=(6,), causes=LOADER,
             may_be_silent=True, is_joined=False),
        Case("no_steps", dp=16, has_steps=False, faults=[Fault(5, "load")], culprits=(5,), causes=LOADER, cost=False),
        Case("with_seq", tp=2, dp=4, pp=2, microbatches=2, has_seq=True, faults=[Fault(3, "load")], culprits=(3,),
             causes=LOADER),
        Case("hosts", dp=32, names_hosts=True, faults=[Fault(21, "load")], culprits=(21,), causes=LOADER),
        Case("slow_host", dp=32, names_hosts=True, faults=[Fault(n, "kernels", factor=1.5) for n in range(8, 16)],
             culprits=tuple(range(8, 16)), causes=("kernel",)),
        Case("gzip", dp=8, gz=True, faults=[Fault(5, "load")], culprits=(5,), causes=LOADER),
        Case("mixed_formats", dp=8, sonde_every=3, faults=[Fault(5, "load")], culprits=(5,), causes=LOADER),
        Case("hostile_groups", tp=2, dp=4, group_prefix='"><script>\\u0000\n%s{}\t\x7f', faults=[Fault(5, "load")],
             culprits=(5,), causes=LOADER),
        Case("hang", dp=16, hang=6),
        Case("hang_tp_dp", tp=2, dp=4, hang=3),
        Case("two_slow_ranks", dp=16, faults=[Fault(3, "load"), Fault(11, "load")], culprits=(3, 11), causes=LOADER,
             may_be_silent=True, cost=False),
        Case("long_drift", dp=16, steps=150, faults=[Fault(5, "load", 8 * MS)], culprits=(5,), causes=LOADER),
    ]
    large = [
        Case("large_clean_1024", tp=8, dp=128, steps=5),
        Case("large_loader_1024", tp=8, dp=128, steps=5, faults=[Fault(517, "load")], culprits=(517,), causes=LOADER),
        Case("large_kernel_pp_1024", tp=8, dp=16, pp=8, steps=3, microbatches=8, faults=[Fault(700, "kernel", 24 * MS)],
             culprits=(700,), causes=("kernel",)),
        Case("large_dp_1024", dp=1024, steps=6, faults=[Fault(1000, "gc", 40 * MS)], culprits=(1000,), causes=("gc",)),
    ]
    return some, large


# ---- judging ----

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
            off = replay["without_culprits_step_ns"] / mended - 1
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
        for seed in range(1, options.seeds + 1):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="names of the cases")
    one = commands.add_parser("make", help="write the files of a case")
    one.add_argument("case")
    one.add_argument("out", type=Path)
    one.add_argument("--seed", type=int, default=1)
    all_of = commands.add_parser("check", help="run `sonde job` on all cases")
    all_of.add_argument("sonde")
    all_of.add_argument("--only", default="*")
    all_of.add_argument("--seeds", type=int, default=1)
    all_of.add_argument("--large", action="store_true", help="also jobs of 1,024 ranks")
    options = parser.parse_args()
    some, large = cases()
    if options.command == "list":
        print("\n".join(c.name for c in some + large))
        return 0
    if options.command == "make":
        case = next((c for c in some + large if c.name == options.case), None)
        if case is None:
            parser.error(f"no case {options.case}; `list` shows them")
        truth = make(case, options.seed, options.out)
        print(json.dumps({"case": case.name, "culprits": case.culprits, "causes": case.causes,
                          "per_step_ns": truth.per_step_ns, "offsets_ns": truth.offsets}))
        return 0
    return check(options)


if __name__ == "__main__":
    sys.exit(main())
