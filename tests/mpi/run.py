#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `sonde job` under mpirun and compares with one process.

    tests/mpi/run.py --sonde BUILD/bin/sonde RANKS            1, 2 and 4 processes, and one that is killed or stops
    tests/mpi/run.py --sonde BUILD/bin/sonde --nodes RANKS    over two network namespaces; then a link goes down,
                                                              and a node's daemon is killed

Exits with 77 if something that it needs is missing.
"""

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
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


def command_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""  # it has ended


def wait_until(holds, what: str, seconds: int = 60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            print(f"FAILED: not within {seconds} s: {what}")
            sys.exit(1)
        time.sleep(0.02)


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

    def set_link(self, state: str):
        subprocess.run(["ip", "-n", self.names[1], "link", "set", "sonde_vb", state], check=True)

    def processes(self, name: str) -> list:
        """The processes of this name on the second node, none of which anybody else started."""
        listed = subprocess.run(["ip", "netns", "pids", self.names[1]], capture_output=True, text=True, check=False)
        return [int(pid) for pid in listed.stdout.split() if command_of(pid) == name]

    def mpirun(self) -> list:
        return ["ip", "netns", "exec", "sonde_a", "unshare", "--uts", "bash", "-c",
                'hostname sonde_a; exec "$@"', "bash", *MPIRUN, "--mca", "plm_rsh_agent", self.agent,
                "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24",
                "--host", "10.77.0.1:2,10.77.0.2:2"]


def check_processes(sonde: Path, ranks: Path, env: dict, alone: str, launcher: list, numbers: list):
    for number in numbers:
        done = run([*launcher, "-n", number, sonde, "job", ranks, "--format", "json"], env)
        expect(done.returncode == 0 and done.stdout == alone, f"{number} processes say the same as one", done)


def make_ranks(source: Path, folder: Path, count: int):
    """Many ranks, so that a process has something to do for a while."""
    with gzip.open(sorted(source.glob("*rank0*.json.gz"))[0], "rt") as file:
        trace = json.load(file)
    for rank in range(count):
        trace["distributedInfo"].update(rank=rank, world_size=count)
        (folder / f"rank{rank}.json").write_text(json.dumps(trace), encoding="utf-8")


def check_stopped_process(sonde: Path, ranks: Path, env: dict, folder: Path):
    """Process 1 stops after its first summary. The others must end and name it, and the next run goes on."""
    many, kept = folder / "many", folder / "kept"
    many.mkdir()
    kept.mkdir()
    make_ranks(ranks, many, 24)
    script = folder / "one_stops"
    script.write_text(f"""#!/bin/bash
[[ $OMPI_COMM_WORLD_RANK == 1 ]] || exec {sonde} "$@"
{sonde} "$@" &
until ls {kept}/rank*.sum > /dev/null 2>&1; do sleep 0.005; done
kill -STOP $!
wait
""")
    script.chmod(0o755)
    words = ["job", many, "--format", "json", "--summaries"]
    before = run([sonde, "job", many, "--format", "json"], env)
    done = run([*MPIRUN, "-n", 2, script, *words, kept, "--timeout", 3], env)
    expect(done.returncode != 0 and "did not answer: 1" in done.stderr, "a process that stops is named", done)
    expect(any(kept.iterdir()), "its summaries are kept", done)
    again = run([*MPIRUN, "-n", 2, sonde, *words, kept], env)
    expect(again.returncode == 0 and again.stdout == before.stdout, "the next run goes on from there", again)


def check_lost_node(sonde: Path, ranks: Path, env: dict, folder: Path, nodes: Nodes, fault: str):
    """The second node is cut off, or loses its daemon, while process 3 works. All must end, and the next run goes on."""
    many, kept, go, stopped = (folder / f"{fault}_{name}" for name in ("many", "kept", "go", "stopped"))
    many.mkdir()
    kept.mkdir()
    make_ranks(ranks, many, 24)
    script = folder / f"{fault}_script"
    script.write_text(f"""#!/bin/bash
[[ $OMPI_COMM_WORLD_RANK == 3 ]] || exec {sonde} "$@"
{sonde} "$@" &
until ls {kept}/rank*.sum > /dev/null 2>&1; do sleep 0.005; done
kill -STOP $!
touch {stopped}
until [[ -e {go} ]]; do sleep 0.01; done
kill -CONT $!
wait $!
""")
    script.chmod(0o755)
    words = ["job", many, "--format", "json", "--summaries"]
    before = run([sonde, "job", many, "--format", "json"], env)
    printed = folder / f"{fault}_printed"
    with printed.open("w") as out, subprocess.Popen(
            [str(word) for word in [*nodes.mpirun(), "-n", 4, script, *words, kept, "--timeout", 3]], env=env,
            stdout=subprocess.DEVNULL, stderr=out, start_new_session=True) as job:
        wait_until(stopped.exists, "process 3 has begun")
        if fault == "link":
            nodes.set_link("down")
        else:
            for pid in nodes.processes("orted"):
                os.kill(pid, signal.SIGKILL)
        go.touch()
        if fault == "link":
            # mpirun itself waits for the other node for ever; what counts is that our processes end and say why.
            wait_until(lambda: "did not answer" in printed.read_text(), "the missing processes are named")
            wait_until(lambda: not nodes.processes("sonde"), "no process stays on the node that was cut off")
            os.killpg(job.pid, signal.SIGKILL)
        status = job.wait(timeout=60)
    expect(status != 0, f"{fault}: the command fails", before)
    if fault == "link":
        nodes.set_link("up")
    wait_until(lambda: not nodes.processes("sonde"), "no process stays on the lost node")
    for pid in nodes.processes("orted"):
        os.kill(pid, signal.SIGKILL)
    expect(any(kept.iterdir()), f"{fault}: summaries are kept", before)
    again = run([*nodes.mpirun(), "-n", 4, sonde, *words, kept], env)
    expect(again.returncode == 0 and again.stdout == before.stdout, f"{fault}: the next run goes on from there", again)


def check_unreadable_file(sonde: Path, ranks: Path, env: dict, folder: Path):
    broken = folder / "broken.json"
    broken.write_text("{")
    words = ["job", *sorted(ranks.glob("*.gz")), broken]
    refused = run([*MPIRUN, "-n", 2, sonde, *words], env)
    expect(refused.returncode != 0 and "--partial" in refused.stderr, "a file that cannot be read is named", refused)
    alone = run([sonde, *words, "--partial"], env)
    partial = run([*MPIRUN, "-n", 2, sonde, *words, "--partial"], env)
    expect(partial.returncode == 0 and partial.stdout == alone.stdout, "--partial answers from the others", partial)


def check_other_files(sonde: Path, ranks: Path, env: dict, folder: Path):
    """As if each node had its own disk."""
    script = folder / "own_disk"
    script.write_text(f'#!/bin/bash\ncd {folder}/disk$OMPI_COMM_WORLD_RANK && exec {sonde} "$@"\n')
    script.chmod(0o755)
    for number, name in enumerate(sorted(ranks.glob("*.gz"))[:2]):
        disk = folder / f"disk{number}"
        disk.mkdir()
        shutil.copy(name, disk)
    done = run([*MPIRUN, "-n", 2, script, "job", "."], env)
    expect(done.returncode != 0 and "process 1 sees other files" in done.stderr, "other files are noticed", done)


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
                check_lost_node(options.sonde, options.ranks, env, folder, nodes, "daemon")
                check_lost_node(options.sonde, options.ranks, env, folder, nodes, "link")
        else:
            check_processes(options.sonde, options.ranks, env, alone.stdout, MPIRUN, [1, 2, 4])
            check_broken_process(options.sonde, options.ranks, env, folder)
            check_stopped_process(options.sonde, options.ranks, env, folder)
            check_other_files(options.sonde, options.ranks, env, folder)
            check_unreadable_file(options.sonde, options.ranks, env, folder)
    print("ok")


if __name__ == "__main__":
    main()
