#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `sonde job` under mpirun and compares with one process.

    tests/mpi/run.py --sonde BUILD/bin/sonde RANKS            2 and 4 processes, and one that is killed
    tests/mpi/run.py --sonde BUILD/bin/sonde --nodes RANKS    over two network namespaces, and one that is late

Exits with 77 if something that it needs is missing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "btl", "tcp,self"]


def skip(why: str):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(words: list, env: dict, timeout: int = 90) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in words], env=env, capture_output=True, text=True, timeout=timeout,
                          check=False)


def expect(holds: bool, what: str, done: subprocess.CompletedProcess):
    if holds:
        return
    print(f"FAILED: {what}\nstatus {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    sys.exit(1)


class Nodes:
    """Two network namespaces joined by a pair of devices."""

    names = ("sonde_a", "sonde_b")

    def __init__(self, folder: Path):
        self.agent = folder / "agent"
        self.agent.write_text("#!/bin/bash\nhost=$1; shift\ncase $host in 10.77.0.1) ns=sonde_a;; *) ns=sonde_b;; esac\n"
                              'exec ip netns exec $ns unshare --uts bash -c "hostname $ns; $*"\n')
        self.agent.chmod(0o755)

    def __enter__(self):
        a, b = self.names
        steps = [f"ip netns add {a}", f"ip netns add {b}", "ip link add sonde_va type veth peer name sonde_vb",
                 f"ip link set sonde_va netns {a}", f"ip link set sonde_vb netns {b}",
                 f"ip -n {a} addr add 10.77.0.1/24 dev sonde_va", f"ip -n {b} addr add 10.77.0.2/24 dev sonde_vb"]
        steps += [f"ip -n {ns} link set {device} up" for ns, device in
                  ((a, "lo"), (b, "lo"), (a, "sonde_va"), (b, "sonde_vb"))]
        for step in steps:
            done = subprocess.run(step.split(), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self.__exit__()
                skip(f"network namespaces are not allowed here: {step}: {done.stderr.strip()}")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def mpirun(self) -> list:
        return ["ip", "netns", "exec", "sonde_a", "unshare", "--uts", "bash", "-c",
                'hostname sonde_a; exec "$@"', "bash", *MPIRUN, "--mca", "plm_rsh_agent", self.agent,
                "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24",
                "--host", "10.77.0.1:2,10.77.0.2:2"]


def check_processes(sonde: Path, ranks: Path, env: dict, alone: str, launcher: list, numbers: list):
    for number in numbers:
        done = run([*launcher, "-n", number, sonde, "job", ranks, "--format", "json"], env)
        expect(done.returncode == 0 and done.stdout == alone, f"{number} processes say the same as one", done)


def check_missing_process(sonde: Path, ranks: Path, env: dict, folder: Path):
    """One process sleeps for longer than the others wait."""
    script = folder / "one_sleeps"
    script.write_text(f'#!/bin/bash\n[[ $OMPI_COMM_WORLD_RANK != 1 ]] || sleep 8\nexec {sonde} "$@"\n')
    script.chmod(0o755)
    done = run([*MPIRUN, "-n", 2, script, "job", ranks, "--timeout", 2], env)
    # MPI itself waits for the process when it starts; whichever notices first must end all of them.
    expect(done.returncode == 0 or "did not answer: 1" in done.stderr, "a late process is waited for or named", done)


def check_broken_process(sonde: Path, ranks: Path, env: dict, folder: Path):
    script = folder / "one_dies"
    script.write_text(f'#!/bin/bash\n[[ $OMPI_COMM_WORLD_RANK != 1 ]] || kill -9 $$\nexec {sonde} "$@"\n')
    script.chmod(0o755)
    done = run([*MPIRUN, "-n", 2, script, "job", ranks, "--timeout", 5], env)
    expect(done.returncode != 0, "a killed process fails the command", done)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sonde", type=Path, required=True)
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("ranks", type=Path)
    options = parser.parse_args()
    for program in ("mpirun", "mpicxx"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed (Debian: openmpi-bin, libopenmpi-dev)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = dict(os.environ, XDG_CACHE_HOME=name, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
        env["PATH"] = env.get("PATH", "") + ":/usr/sbin:/sbin"
        missing = run([*MPIRUN, "-n", 2, options.sonde, "job", options.ranks], env)
        expect(missing.returncode != 0 and "sonde mpi build" in missing.stderr, "it says what to build", missing)
        built = run([options.sonde, "mpi", "build"], env)
        expect(built.returncode == 0, "sonde mpi build", built)
        alone = run([options.sonde, "job", options.ranks, "--format", "json"], env)
        expect(alone.returncode == 0, "one process", alone)
        if options.nodes:
            if os.geteuid() != 0 or shutil.which("ip", path=env["PATH"]) is None:
                skip("two nodes need root and the program ip")
            with Nodes(folder) as nodes:
                check_processes(options.sonde, options.ranks, env, alone.stdout, nodes.mpirun(), [4])
            check_missing_process(options.sonde, options.ranks, env, folder)
        else:
            check_processes(options.sonde, options.ranks, env, alone.stdout, MPIRUN, [2, 4])
            check_broken_process(options.sonde, options.ranks, env, folder)
    print("ok")


if __name__ == "__main__":
    main()
