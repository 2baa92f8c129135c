#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs like those of PyTorch's documents, run twice: as they are, and with only the import changed.

    python3 tests/python/document_examples.py [cpu|cuda]

Each leaves what it got in `got`: tables, which must have the same columns, lists of averages, whose names and counts must be the same,
and files that must be there. torch's profiler and Sonde's each have a process, because CUPTI serves one of them. Prints a line for
each program; the exit status is the number of those that differ.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

IMPORTS = {"torch": ("torch.profiler", "torch.autograd.profiler", "torch.cuda.profiler"),
           "sonde": ("sonde.profiler", "sonde.autograd.profiler", "sonde.cuda.profiler")}

MODEL = """
import torch
from torch import nn
torch.manual_seed(0)

def small_resnet():
    def block(channels):
        return nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())
    return nn.Sequential(nn.Conv2d(3, 16, 7, stride=2), block(16), block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))

model, inputs = small_resnet().to(DEVICE), torch.randn(5, 3, 64, 64, device=DEVICE)
model(inputs)
"""

PROGRAMS = {
    "recipe: time of an inference": MODEL + """
from PROFILER import profile, ProfilerActivity, record_function
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"):
        model(inputs)
got = [prof.key_averages().table(sort_by="cpu_time_total", row_limit=10), prof.key_averages(),
       prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=10),
       prof.key_averages(group_by_input_shape=True)]
""",
    "recipe: time on the device": MODEL + """
from PROFILER import profile, ProfilerActivity, record_function
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
with profile(activities=activities, record_shapes=True) as prof:
    with record_function("model_inference"):
        model(inputs)
got = [prof.key_averages().table(sort_by=DEVICE + "_time_total", row_limit=10), prof.key_averages()]
""",
    "recipe: memory": MODEL + """
from PROFILER import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as prof:
    model(inputs)
got = [prof.key_averages().table(sort_by="self_cpu_memory_usage", row_limit=10),
       prof.key_averages().table(sort_by="cpu_memory_usage", row_limit=10), prof.key_averages()]
""",
    "recipe: a trace": MODEL + """
from PROFILER import profile, ProfilerActivity
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
with profile(activities=activities) as prof:
    model(inputs)
prof.export_chrome_trace("trace.json")
got = ["trace.json"]
""",
    "recipe: stacks": MODEL + """
from PROFILER import profile, ProfilerActivity
from torch._C._profiler import _ExperimentalConfig
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
with profile(activities=activities, with_stack=True, experimental_config=_ExperimentalConfig(verbose=True)) as prof:
    model(inputs)
got = [prof.key_averages(group_by_stack_n=5).table(sort_by="self_" + DEVICE + "_time_total", row_limit=2)]
prof.export_stacks("stacks.txt", "self_cpu_time_total")
got.append("stacks.txt")
""",
    "recipe: a job that runs long": MODEL + """
from PROFILER import profile, schedule, ProfilerActivity
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
got = []

def trace_handler(p):
    got.append(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    got.append(p.key_averages())
    name = "trace_" + str(p.step_num) + ".json"
    p.export_chrome_trace(name)
    got.append(name)

with profile(activities=activities, schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=trace_handler) as p:
    for _ in range(8):
        model(inputs)
        p.step()
""",
    "torch.profiler: all activities": MODEL + """
import PROFILER as profiler
with profiler.profile(activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA] if DEVICE == "cuda"
                      else [profiler.ProfilerActivity.CPU]) as p:
    model(inputs).sum().backward()
got = [p.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1), p.key_averages()]
""",
    "torch.profiler: TensorBoard": MODEL + """
import os
import PROFILER as profiler
with profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1), record_shapes=True, profile_memory=True,
                      with_stack=True, on_trace_ready=profiler.tensorboard_trace_handler("log", worker_name="worker0")) as p:
    for _ in range(5):
        model(inputs)
        p.step()
got = ["files: " + str([name.split(".")[0] + "." + ".".join(name.split(".")[2:]) for name in os.listdir("log")])]
""",
    "torch.profiler: without a block": MODEL + """
import PROFILER as profiler
p = profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=3, repeat=1), record_shapes=True)
p.start()
for step in range(6):
    p.step()
    if step >= 5:
        break
    model(inputs)
p.stop()
got = [p.key_averages()]
""",
    "torch.profiler: an execution trace": MODEL + """
from PROFILER import ExecutionTraceObserver, profile, schedule, ProfilerActivity
observer = ExecutionTraceObserver().register_callback("execution_trace.json")
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=1, repeat=1),
             execution_trace_observer=observer) as p:
    for _ in range(4):
        model(inputs)
        p.step()
import collections, json
names = collections.Counter(node["name"] for node in json.load(open("execution_trace.json"))["nodes"] if "aten::" in node["name"])
got = ["nodes: " + str(sorted(names.items()))]
""",
    "autograd: gradients": """
import torch
import AUTOGRAD as profiler
x = torch.randn((1, 1), requires_grad=True)
(x ** 2).backward()
with profiler.profile() as prof:
    for _ in range(100):
        y = x ** 2
        y.backward()
got = [prof.key_averages().table(sort_by="self_cpu_time_total"), prof.key_averages()]
""",
    "autograd: a labelled part": """
import torch
from AUTOGRAD import profile, record_function
x = torch.randn((1, 1), requires_grad=True)
(x ** 2).backward()
with profile() as prof:
    y = x ** 2
    with record_function("label-z"):
        z = y ** 3
    y.backward()
got = [prof.key_averages().table(sort_by="self_cpu_time_total"), prof.key_averages(), str(prof.total_average().count > 0)]
""",
    "autograd: for other tools": MODEL + """
from AUTOGRAD import emit_itt
from AUTOGRAD import emit_nvtx
model(inputs)
if DEVICE == "cuda":
    from CUDA import profile
    with profile():
        with emit_nvtx():
            model(inputs)
got = ["ran"]
""",
    "tutorial: a module with a mask": """
import numpy as np
import torch
from torch import nn
import AUTOGRAD as profiler

class MyModule(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, input, mask):
        with profiler.record_function("LINEAR PASS"):
            out = self.linear(input)
        with profiler.record_function("MASK INDICES"):
            threshold = out.sum(axis=1).mean().item()
            hi_idx = np.argwhere(mask.cpu().numpy() > threshold)
            hi_idx = torch.from_numpy(hi_idx).to(DEVICE)
        return out, hi_idx

model = MyModule(50, 10).to(DEVICE)
input, mask = torch.rand(12, 50).to(DEVICE), torch.rand((20, 20, 20), dtype=torch.double).to(DEVICE)
model(input, mask)
with profiler.profile(with_stack=True, profile_memory=True) as prof:
    out, idx = model(input, mask)
got = [prof.key_averages(group_by_stack_n=5).table(sort_by="self_cpu_time_total", row_limit=5), prof.key_averages()]
""",
    "tutorial: training for TensorBoard": MODEL + """
import PROFILER as profiler
criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
labels = torch.randint(0, 10, (5,), device=DEVICE)

def train(data):
    loss = criterion(model(data), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

train(inputs)
with profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
                      on_trace_ready=profiler.tensorboard_trace_handler("log2"), record_shapes=True, profile_memory=True,
                      with_stack=True) as prof:
    for step in range(8):
        prof.step()
        if step >= 1 + 1 + 3:
            break
        train(inputs)
got = [prof.key_averages()]
""",
    "memory over time": MODEL + """
import PROFILER as profiler
optimizer = torch.optim.Adam(model.parameters())
with profiler.profile(schedule=profiler.schedule(wait=0, warmup=0, active=4, repeat=1), record_shapes=True, profile_memory=True,
                      with_stack=True) as prof:
    for _ in range(4):
        prof.step()
        model(inputs).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
prof.export_memory_timeline("memory.html", device=DEVICE + (":0" if DEVICE == "cuda" else ""))
got = ["memory.html"]
""",
    "flops": MODEL + """
from PROFILER import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU], with_flops=True, record_shapes=True) as prof:
    model(inputs)
got = [prof.key_averages().table(sort_by="flops", row_limit=5),
       "flops: " + str(sorted((row.key, row.flops) for row in prof.key_averages() if row.flops))]
""",
    "compiled": MODEL + """
from PROFILER import profile, ProfilerActivity, record_function
if hasattr(torch, "compile"):
    model = torch.compile(model)
    for _ in range(3):
        model(inputs).sum().backward()
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
with profile(activities=activities) as prof:
    with record_function("step"):
        model(inputs).sum().backward()
prof.export_chrome_trace("compiled.json")
got = [prof.key_averages(), "compiled.json"]
""",
    "a range that ends with a future": """
import torch
from PROFILER import profile, record_function, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU]) as prof:
    with record_function("asynchronous") as rf:
        future = torch.futures.Future()
        same = rf._call_end_callbacks_on_future(future)
    future.set_result(3)
    assert same.wait() == 3
got = ["asynchronous" in str([row.key for row in prof.key_averages()])]
""",
}


def run(program, whose, device, folder):
    os.makedirs(folder)
    os.chdir(folder)
    text = program
    for word, module in zip(("PROFILER", "AUTOGRAD", "CUDA"), IMPORTS[whose]):
        text = re.sub(rf"\b(from|import) {word}\b", rf"\1 {module}", text)
    space = {"DEVICE": device, "__name__": "example"}
    exec(compile(text, f"{whose}_example.py", "exec"), space)
    return [described(one) for one in space["got"]]


def described(got):
    """What is compared of a result, as texts and numbers."""
    if isinstance(got, list):
        # What a profiler or the allocator does by itself is no part of the program.
        counts = collections.Counter()
        for row in got:
            if not row.key.startswith(("[memory]", "Activity Buffer", "Lazy Function", "Buffer Flush", "Command Buffer", "Resource",
                                       "cudaDeviceSynchronize", "cudaDeviceGetAttribute")) and not is_launch(row.key):
                counts[f"{row.key} {row.input_shapes}"] += row.count
        return {"counts": counts}
    if isinstance(got, str) and got.startswith("---"):
        return {"columns": re.split(r"\s{2,}", got.splitlines()[1].strip())}
    if isinstance(got, str) and os.path.splitext(got)[1] in (".json", ".html", ".txt"):
        return {"file": got, "is empty": os.path.getsize(got) == 0}
    return {"answer": got}


def is_launch(name):
    # Sonde has the launch of the driver where the runtime's only calls it (docs/gpu.md).
    return name.startswith(("cudaLaunch", "cuLaunch"))


def run_all(whose, device, folder, output):
    warnings.simplefilter("ignore")
    results = {}
    for number, (name, program) in enumerate(PROGRAMS.items()):
        begin = time.time()
        try:
            results[name] = {"got": run(program, whose, device, f"{folder}/{number}_{whose}")}
        except Exception:
            results[name] = {"raised": traceback.format_exc().splitlines()[-1]}
        results[name]["seconds"] = time.time() - begin
    with open(output, "w", encoding="utf-8") as file:
        json.dump(results, file)
    os._exit(0)


def differences(theirs, ours):
    if "raised" in ours:
        yield f"Sonde: {ours['raised']}"
        return
    if len(theirs["got"]) != len(ours["got"]):
        yield f"{len(theirs['got'])} results and {len(ours['got'])}"
    for one, other in zip(theirs["got"], ours["got"]):
        if "counts" in one and "counts" in other:
            expected, found = collections.Counter(one["counts"]), collections.Counter(other["counts"])
            for whose, rest in (("torch", expected - found), ("Sonde", found - expected)):
                if rest:
                    yield f"only {whose}: {dict(rest.most_common(8))}"
        elif "columns" in one and "columns" in other:
            # torch shows where an operator was called from only if it is told to be verbose.
            if one["columns"] != [column for column in other["columns"] if column in one["columns"] or column != "Source Location"]:
                yield f"columns {one['columns']} and {other['columns']}"
        elif one != other:
            yield f"{one} and {other}"


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if len(sys.argv) > 2:
        return run_all(sys.argv[2], device, *sys.argv[3:])
    folder, results, failed = tempfile.mkdtemp(), {}, 0
    files = {whose: f"{folder}/{whose}.json" for whose in IMPORTS}
    running = [subprocess.Popen([sys.executable, os.path.abspath(__file__), device, whose, folder, path]) for whose, path in files.items()]
    for process in running:
        process.wait()
    for whose, path in files.items():
        with open(path, encoding="utf-8") as file:
            results[whose] = json.load(file)
    for name in PROGRAMS:
        theirs, ours = results["torch"][name], results["sonde"][name]
        if "raised" in theirs and "raised" not in ours:
            print(f"ok   {name}: torch itself does not run it: {theirs['raised'][:200]}")
            continue
        why = [f"torch: {theirs['raised']}", f"Sonde: {ours['raised']}"] if "raised" in theirs else list(differences(theirs, ours))
        failed += bool(why)
        print(f"{'DIFF' if why else 'ok  '} {name} ({theirs['seconds']:.1f} s, {ours['seconds']:.1f} s)")
        for line in why:
            print(f"     {line[:1500]}")
    print(f"{len(PROGRAMS)} programs on {device}, {failed} differ")
    return min(failed, 100)


sys.exit(main())
