#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What reports promise and what mending gives, for programs with a fault that can be switched off.

    bench/switches.py build/release/bin [rounds] [--busy] [program...]                programs of bench/switches.cpp
    bench/switches.py SONDE/bin [rounds] --gpu [--keep FOLDER] [program...]           of bench/gpu_switches.py

Records each program with its fault, takes the finding of its report that names the fault, and compares the
mean step that it promises with the mean step of the program without the fault. Without that finding, nothing
is promised. Both versions run in turns; the medians of all rounds are compared.

With --busy, steps are measured by the processor time of their thread: on a machine that others use, the clock
says little. --keep leaves the recordings in a folder, with the times in times.json.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

# What a report should say. An optimiser on the host, and a bias that oneDNN adds on the way, cost next to
# nothing: nothing should be said of them.
HOST_FINDINGS = {
    "loader": ["synchronized_data_loader"],
    "elements": ["for_loop_indexing"],
    "gradients": ["gradient_not_set_to_none"],
    "clones": ["extra_copies"],
    "logging": ["outside_operators"],
    "unmarked": ["outside_operators"],
    "checkpoints": ["outlier_steps", "outside_operators"],
    "bias": ["conv2d_bias_batch_norm"],
    "optimizer": ["optimizer_single_tensor"],
    "nothing": ["for_loop_indexing"],
}
GPU_FINDINGS = {
    "pageable": ["pageable_copies"],
    "optimizer": ["optimizer_single_tensor"],
    "bias": ["conv2d_bias_batch_norm"],
    "tiny": ["launch_bound", "kernel_wait"],
    "tf32": ["fp32_matmul"],
    "channels_last": ["layout_conversions"],
    "item": ["stalling_synchronisation"],
    "loader": ["synchronized_data_loader", "host_bound"],
    "python_work": ["host_bound"],
    "empty_cache": ["memory_from_driver"],
    "zero_grad": ["gradient_not_set_to_none"],
    "padding": ["matmul_dim_fp16"],
    "clones": ["extra_copies"],
    "round_trip": ["copies_there_and_back", "stalling_synchronisation", "pageable_copies"],
    "rows": ["for_loop_indexing"],
    "nothing": [],
}


class HostPrograms:
    """LibTorch programs that record themselves."""

    wanted = HOST_FINDINGS

    def __init__(self, folder, busy):
        self.bench = folder + "/bench_switches"
        self.busy = busy

    def record(self, name, file):
        self._mean_us(name, "on", file)

    def times(self, name):
        return self._mean_us(name, "on"), self._mean_us(name, "off")

    def _mean_us(self, *arguments):
        out = subprocess.run([self.bench, *arguments], capture_output=True, text=True, check=True).stdout
        return float(out.split()[2 if self.busy else 1])


class GpuPrograms:
    """Python programs, recorded by sonde run."""

    wanted = GPU_FINDINGS

    def __init__(self, folder, names):
        self.sonde = folder + "/sonde"
        self.program = ["python3", str(pathlib.Path(__file__).with_name("gpu_switches.py"))]
        self.names = names
        self.measured = {}

    def record(self, name, file):
        subprocess.run([self.sonde, "run", "-q", "--gpu", "--shapes", "-o", file, "--", *self.program, name, "on"], check=True)

    def times(self, name):
        if name not in self.measured:  # all in one process: starting torch takes longer than measuring
            out = subprocess.run([*self.program, "times", *self.names], capture_output=True, text=True, check=True).stdout
            for one, on, off in (line.split() for line in out.splitlines()):
                self.measured[one] = float(on), float(off)
        return self.measured.pop(name)


def promise(folder, file, wanted):
    """The share of the time that the right finding promises, and its name."""
    text = subprocess.run([folder + "/sonde", "report", file, "--format", "json"], capture_output=True,
                          text=True, check=True).stdout
    report = json.loads(text)
    for finding in report["findings"]:
        if finding["saving_ns"] > 0 and finding["id"] in wanted:
            return finding["saving_ns"] / report["measured_ns"], finding["id"]
    return 0, "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("words", nargs="*", help="rounds, programs")
    options = parser.parse_intermixed_args()
    rounds = next((int(word) for word in options.words if word.isdigit()), 5)
    names = [word for word in options.words if not word.isdigit()] or list(GPU_FINDINGS if options.gpu else HOST_FINDINGS)
    programs = GpuPrograms(options.folder, names) if options.gpu else HostPrograms(options.folder, options.busy)

    print(f"{'program':<14}{'with µs':>10}{'promised':>10}{'without':>10}{'error':>8}{'saving':>9}{'had':>9}  finding")
    measured = {}
    for name in names:
        with_fault, without, promised = [], [], []
        found = "none"
        for number in range(rounds):
            with tempfile.TemporaryDirectory() as place:
                file = f"{options.keep}/{name}.sonde" if options.keep and number == 0 else place + "/run.sonde"
                programs.record(name, file)
                share, found = promise(options.folder, file, programs.wanted[name])
            on, off = programs.times(name)
            with_fault.append(on)
            without.append(off)
            promised.append(on * (1 - share))
        a, b, c = (statistics.median(values) for values in (with_fault, promised, without))
        measured[name] = {"with_us": a, "without_us": c}
        print(f"{name:<14}{a:>10.0f}{b:>10.0f}{c:>10.0f}{100 * (b - c) / c:>+7.0f} %{100 * (a - b) / a:>7.1f} %"
              f"{100 * (a - c) / a:>7.1f} %  {found}", flush=True)
    if options.keep:
        pathlib.Path(options.keep, "times.json").write_text(json.dumps(measured, indent=1))


if __name__ == "__main__":
    sys.exit(main())
