# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ranks of a job: hosts launch, streams run in order, collectives end when all have arrived."""

import random

from made_jobs.case import MS, US


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
        self.slowness = 1.0  # of the host

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
        self.host += 8 * US * self.slowness
        call = self.host
        self.host += 6 * US * self.slowness
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
        self.host += 4 * US * self.slowness
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
        slow = case.work * (imbalance[step] if case.imbalance else 1.0)
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

    imbalance = [max(0.2, 1 + case.imbalance * rank.chance.gauss(0, 1)) for _ in range(case.steps)]
    for step in range(case.steps):
        begin = rank.host
        rank.slowness = max([1.0] + [f.factor for f in faults if f.rank == n and f.kind == "host" and f.when(step)])
        rank.step_begin.append(begin)
        load = 1.0 * MS + abs(rank.chance.gauss(0, 1)) * case.host_jitter_ns
        rank.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", load + fault("load", step))
        if fault("compile", step):
            rank.range("torch.compile", fault("compile", step))
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
        if fault("save", step):
            rank.range("save_checkpoint", fault("save", step))
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
            slow = 10 if any(m in case.slow_network for m in arrived) else 1
            done = max(arrived.values()) + transfer * slow
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
