#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recordings say that they cost, and what they cost as seen from outside.

    bench/stated_cost.py build/release/bin/sonde [rounds] [--python /usr/bin/python3] [--gpu]

Runs Python programs alone and under `sonde run` in four modes, in turns. A program prints the
processor time of its thread, so that a busy machine matters less; the least of all rounds counts. The
stated cost is that of `sonde report --format json`, divided by the number of steps. With --gpu the programs
run on a GPU, which torch 2 can do, and its calls and kernels are recorded as well.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = {
    "adds": """
a = torch.ones(4); b = torch.ones(4)
def step():
    for _ in range(4000): torch.add(a, b)
""",
    "training": """
net = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(32, 32), torch.nn.ReLU())])
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.ones(8, 32)
def step():
    for _ in range(40):
        opt.zero_grad(set_to_none=True)
        net(x).pow(2).mean().backward()
        opt.step()
""",
    "lstm": """
cell = torch.nn.LSTMCell(16, 16)
x = torch.ones(4, 16)
def step():
    with torch.no_grad():
        h = c = torch.zeros(4, 16)
        for _ in range(300): h, c = cell(x, (h, c))
""",
    "attention": """
layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
x = torch.ones(2, 16, 32)
opt = torch.optim.Adam(layer.parameters())
def step():
    for _ in range(12):
        opt.zero_grad(set_to_none=True)
        layer(x).sum().backward()
        opt.step()
""",
    "images": """
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                          torch.nn.Flatten(), torch.nn.Linear(8 * 64, 10)).eval()
images = torch.rand(64, 3, 32, 32)
def step():
    with torch.no_grad():
        for image in images:
            crop = image[:, 8:24, 8:24].flip(2).sub(0.5).div(0.25).contiguous()
            net(crop.unsqueeze(0)).softmax(1).argmax(1).item()
""",
    # Small operators far down a stack.
    "tree": """
leaves = [torch.rand(16) for _ in range(512)]
def add_up(first, last):
    if last - first == 1: return leaves[first]
    middle = (first + last) // 2
    return torch.lerp(add_up(first, middle), add_up(middle, last), 0.5)
def deeper(calls): return add_up(0, 512) if calls == 0 else deeper(calls - 1)
def step():
    with torch.no_grad():
        for _ in range(4): deeper(60)
""",
}
FRAME = """
import gc, time, torch
torch.set_num_threads(1)
{on_device}
{program}
for _ in range(3): step()
gc.disable()
best = 1e9
for _ in range(15):
    begin = time.thread_time()
    step()
    best = min(best, time.thread_time() - begin)
print(best)
"""
STEPS = 18  # that were recorded, of which the best is measured
MODES = {"operators": [], "shapes": ["--shapes"], "shapes, memory": ["--shapes", "--memory"],
         "shapes, memory, stack": ["--shapes", "--memory", "--stack"]}


def main():
    sonde = sys.argv[1]
    words = sys.argv[2:]
    python = words[words.index("--python") + 1] if "--python" in words else "python3"
    on_device = "torch.set_default_device('cuda')" if "--gpu" in words else ""
    rounds = int(words[0]) if words and words[0].isdigit() else 5
    print(f"{'program':<12}{'mode':<24}{'alone ms':>10}{'stated':>9}{'measured':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, program in PROGRAMS.items():
            script = pathlib.Path(folder, name + ".py")
            script.write_text(FRAME.format(program=program, on_device=on_device))
            alone = 1e9
            recorded = {mode: 1e9 for mode in MODES}
            stated = {}

            def seconds(command):
                out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                return float(out.split()[0])

            for _ in range(rounds):
                alone = min(alone, seconds([python, script]))
                for mode, options in MODES.items():
                    file = pathlib.Path(folder, "run.sonde")
                    file.unlink(missing_ok=True)
                    command = [sonde, "run", "-q", *(["--gpu"] if on_device else []), *options, "-o", file, "--", python, script]
                    recorded[mode] = min(recorded[mode], seconds(command))
                    text = subprocess.run([sonde, "report", file, "--format", "json"], capture_output=True,
                                          text=True, check=True).stdout
                    stated[mode] = json.loads(text)["recording_ns"] / 1e9 / STEPS
            for mode in MODES:
                cost = recorded[mode] - alone
                print(f"{name:<12}{mode:<24}{1e3 * alone:>10.3f}{100 * stated[mode] / alone:>8.1f}%"
                      f"{100 * cost / alone:>9.1f}%{stated[mode] / max(cost, 1e-9):>8.2f}", flush=True)


if __name__ == "__main__":
    main()
