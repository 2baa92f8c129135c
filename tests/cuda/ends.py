# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches 20 additions and ends in the given way: ends.py return|_exit|abort|interrupt|term|fork|fork-later

interrupt: by a KeyboardInterrupt; term: killed by another process.
fork: a child, which ends by os._exit(), launches them; fork-later: CUDA was used before, and the child only computes.
"""

import os
import signal
import subprocess
import sys

import torch


def launch():
    total = torch.zeros(1000, device="cuda")
    for _ in range(20):
        total.add_(1)
    torch.cuda.synchronize()


how = sys.argv[1]
if how.startswith("fork"):
    if how == "fork-later":
        launch()
    child = os.fork()
    if child == 0:
        if how == "fork":
            launch()
        else:
            torch.ones(1000).add_(1)
        os._exit(0)
    os.waitpid(child, 0)
else:
    launch()
if how == "_exit":
    os._exit(0)
if how == "abort":
    os.abort()
if how == "interrupt":
    os.kill(os.getpid(), signal.SIGINT)
if how == "term":
    subprocess.run(["kill", "-TERM", str(os.getpid())], check=True)
    signal.pause()
