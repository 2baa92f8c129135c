#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What reports promise and what mending gives, for the programs of bench/switches.cpp.

    bench/switches.py build/release/bin [rounds] [--busy] [program...]

With --busy, steps are measured by the processor time of their thread: on a machine that others use,
the clock says little.

Records each program with its fault, takes the finding of its report that names the fault, and compares the
mean step that it promises with the mean step of the program without the fault. Without that finding, nothing
is promised. Both versions run in turns; the
medians of all rounds are compared.
"""

import json
import statistics
import subprocess
import sys
import tempfile


# What a report should say. An optimiser on the host, and a bias that oneDNN adds on the way, cost next to
# nothing: nothing should be said of them.
FINDINGS = {
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


def main():
    folder = sys.argv[1]
    busy = "--busy" in sys.argv
    words = [word for word in sys.argv[2:] if word != "--busy"]
    numbers = [word for word in words if word.isdigit()]
    chosen = [word for word in words if not word.isdigit()]
    rounds = int(numbers[0]) if numbers else 5
    bench = folder + "/bench_switches"
    names = chosen or subprocess.run([bench], capture_output=True, text=True, check=True).stdout.split()

    def mean_us(*arguments):
        out = subprocess.run([bench, *arguments], capture_output=True, text=True, check=True).stdout
        return float(out.split()[2 if busy else 1])

    print(f"{'program':<12}{'with µs':>10}{'promised':>10}{'without':>10}{'error':>8}{'saving':>9}{'had':>9}  finding")
    for name in names:
        with_fault, without, promised, shares = [], [], [], []
        first = "none"
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as place:
                file = place + "/run.sonde"
                recorded = mean_us(name, "on", file)
                text = subprocess.run([folder + "/sonde", "report", file, "--format", "json"],
                                      capture_output=True, text=True, check=True).stdout
            report = json.loads(text)
            findings = [f for f in report["findings"] if f["saving_ns"] > 0 and f["id"] in FINDINGS[name]]
            first = findings[0]["id"] if findings else "none"
            share = findings[0]["saving_ns"] / report["measured_ns"] if findings else 0
            with_fault.append(mean_us(name, "on"))
            without.append(mean_us(name, "off"))
            promised.append(with_fault[-1] * (1 - share))
            shares.append(share)
        a, b, c = (statistics.median(v) for v in (with_fault, promised, without))
        print(f"{name:<12}{a:>10.0f}{b:>10.0f}{c:>10.0f}{100 * (b - c) / c:>+7.0f} %{100 * (a - b) / a:>7.1f} %{100 * (a - c) / a:>7.1f} %  {first}",
              flush=True)


if __name__ == "__main__":
    main()
