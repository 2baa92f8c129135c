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
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), *[Block(32) for _ in range(8)],
                                torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))
    batch = torch.randn(8, 3, 48, 48)
else:
    model = torch.nn.Sequential(*[torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(2)])
    batch = torch.randn(8, 64, 256)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
times = []
for i in range(steps):
    if dumps and i % 10 == 5: os.kill(os.getpid(), signal.SIGUSR2)
    begin = clock()
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()
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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "train.py")
        program.write_text(PROGRAM)
        for kind in options.kinds.split(","):
            train = [options.python, str(program), kind, str(options.steps)]
            output = os.path.join(folder, "out-{pid}.sonde")
            ring = [options.sonde, "run", "-q", "--ring", "30s", "--dump-on", "slow-step:3x,signal:USR2,crash,exit!=0",
                    "-o", output, "--"]
            alone, ratios, dumping = [], [], []
            for _ in range(options.rounds):
                alone.append(run([*train, "0", str(options.threads), options.clock]))
                ratios.append(run([*ring, *train, "0", str(options.threads), options.clock]) / alone[-1])
                dumping.append(run([*ring, *train, "1", str(options.threads), options.clock]) / alone[-1])
            sizes = sorted(path.stat().st_size for path in pathlib.Path(folder).glob("*.sonde"))
            print(f"{kind:12} step {statistics.median(alone):7.2f} ms  ring {statistics.median(ratios):.3f} "
                  f"({min(ratios):.3f} to {max(ratios):.3f})  while dumping {statistics.median(dumping):.3f}  "
                  f"dumps {len(sizes)}, at most {sizes[-1] // 1024 if sizes else 0} KiB", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()
