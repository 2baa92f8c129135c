#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it costs to leave `sonde run --ring --dump-on` on: training steps with and without it.

    bench/ring.py SONDE [--rounds 5] [--steps 40] [--python /usr/bin/python3]

Runs a small ResNet and a transformer layer, each in turns without Sonde, with the ring, and with the
ring while one dump after another is written by signal. Prints the median time of a step, the median
over the rounds of the ratio to the run without Sonde beside it, and how large the dumps are.
"""

import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

PROGRAM = r"""
import sys, time, os, signal
import torch
torch.manual_seed(0)
device = sys.argv[6]
on_gpu = device == "cuda"
torch.set_num_threads(int(sys.argv[4]))
clock = time.process_time if sys.argv[5] == "cpu" else time.perf_counter
kind, steps, dumps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if kind == "resnet":
    class Block(torch.nn.Module):
        def __init__(self, n):
            super().__init__()
            self.a = torch.nn.Conv2d(n, n, 3, padding=1); self.b = torch.nn.BatchNorm2d(n)
            self.c = torch.nn.Conv2d(n, n, 3, padding=1); self.d = torch.nn.BatchNorm2d(n)
        def forward(self, x):
            return torch.relu(x + self.d(self.c(torch.relu(self.b(self.a(x))))))
    width, blocks, images, side = (128, 16, 64, 96) if on_gpu else (32, 8, 8, 48)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, width, 3, padding=1), *[Block(width) for _ in range(blocks)],
                                torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(width, 10))
    batch = torch.randn(images, 3, side, side)
else:
    width, layers, length = (1024, 12, 512) if on_gpu else (256, 2, 64)
    model = torch.nn.Sequential(*[torch.nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True)
                                  for _ in range(layers)])
    batch = torch.randn(8, length, width)
model, batch = model.to(device), batch.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
times = []
for i in range(steps):
    if dumps and i % 10 == 5: os.kill(os.getpid(), signal.SIGUSR2)
    begin = clock()
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()
    if on_gpu: torch.cuda.synchronize()
    times.append(clock() - begin)
print(*[f"{t * 1e3:.4f}" for t in times[5:]])
"""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return statistics.median(float(word) for word in done.stdout.split())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sonde")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--kinds", default="resnet,transformer")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("cpu", "wall"), default="wall", help="cpu: of all threads; on a busy machine")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: larger models, and a row with --gpu too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "train.py")
        program.write_text(PROGRAM)
        for kind in options.kinds.split(","):
            for level in ([], ["--gpu"]) if options.device == "cuda" else ([],):
                compare(options, folder, program, kind, level)


def compare(options, folder, program, kind, level):
    def train(dumps):
        return [options.python, str(program), kind, str(options.steps), dumps, str(options.threads), options.clock,
                options.device]

    output = os.path.join(folder, "out-{pid}.sonde")
    ring = [options.sonde, "run", "-q", *level, "--ring", "30s", "--dump-on", "slow-step:3x,signal:USR2,crash,exit!=0",
            "-o", output, "--"]
    alone, ratios, dumping = [], [], []
    for _ in range(options.rounds):
        alone.append(run(train("0")))
        ratios.append(run([*ring, *train("0")]) / alone[-1])
        dumping.append(run([*ring, *train("1")]) / alone[-1])
    dumps = list(pathlib.Path(folder).glob("*.sonde"))
    most = max((path.stat().st_size for path in dumps), default=0)
    print(f"{' '.join([kind, *level]):18} step {statistics.median(alone):7.2f} ms  ring {statistics.median(ratios):.3f} "
          f"({min(ratios):.3f} to {max(ratios):.3f})  while dumping {statistics.median(dumping):.3f}  "
          f"dumps {len(dumps)}, at most {most // 1024} KiB", flush=True)
    for path in dumps:
        path.unlink()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()
