# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where there is little room, or names lead elsewhere: the program runs as it would alone, and what can be recorded is."""
import os
import resource
import subprocess
from pathlib import Path

from trial import check_sums, info, ledger, live_files, require, run as run_in

TURNS = 20_000
THREADS = 2
EVENTS = 4 * TURNS * THREADS


class SmallDisk:
    """A disk of that many bytes in memory, mounted in a folder; root alone may do that."""

    def __init__(self, folder, size):
        self.path = Path(folder) / "disk"
        self.path.mkdir()
        self.is_there = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(self.path)],
                                       capture_output=True, check=False).returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_there:
            subprocess.run(["umount", str(self.path)], check=False)


def record(bench, folder, output, env=None, limits=None, before=(), options=()):
    """A recorded program that ends well, whatever becomes of its recording."""
    progress = Path(folder) / "progress"
    progress.write_bytes(bytes(4096))  # for programs that may not write files
    done = run_in([*before, bench.sonde, "run", *options, "-o", str(output), "--", bench.options.counted, str(progress), str(TURNS),
                   str(THREADS)], folder, env, limits=limits)
    require(done.status == 0, f"status {done.status}: {done.err.decode(errors='replace')[-400:]}")
    return done.err.decode(errors="replace")


def expect_whole(bench, path, may_lose=False):
    check_sums(info(bench, path), EVENTS, EVENTS, may_lose)


def on_small_disk(bench, folder, size):
    with SmallDisk(folder, size) as disk:
        if not disk.is_there:
            return "skip"
        said = record(bench, folder, disk.path / "run.sonde")
        require("loaded neither" not in said and "nothing was recorded" not in said, said)
        require(not live_files(disk.path), "a live file is left")
        return expect_whole(bench, disk.path / "run.sonde", may_lose=size < 4 << 20)


def beside_a_program_that_writes(bench, folder):
    """260 MB are free, and the program writes 200 MB of its own: it must find the room."""
    with SmallDisk(folder, 260 << 20) as disk:
        if not disk.is_there:
            return "skip"
        script = f"'{bench.options.counted}' progress {TURNS} {THREADS} && dd if=/dev/zero of=own bs=1M count=150 2>/dev/null"
        done = run_in([bench.sonde, "run", "-q", "--force", "-o", "run.sonde", "--", "/bin/sh", "-c", script], disk.path)
        require(done.status == 0, f"status {done.status}: {done.err!r}")
        require((disk.path / "own").stat().st_size == 150 << 20, "the program's own file is not whole")
        return expect_whole(bench, disk.path / "run.sonde")


def many_names_on_a_full_disk(bench, folder):
    """What cannot be written is tried again, and the names are many: that must not keep the program."""
    with SmallDisk(folder, 8 << 20) as disk:
        if not disk.is_there:
            return "skip"
        done = run_in([bench.sonde, "run", "-o", "run.sonde", "--", bench.options.awkward, "name_millions"], disk.path)
        require(done.status == 0, f"status {done.status}: {done.err!r}")
        require(b"No space left" in done.err, done.err.decode(errors="replace"))
        return require(not live_files(disk.path), "a live file is left")


def with_tmpdir(bench, folder, kind):
    folder = Path(folder)
    value = {"missing": "/no/such/folder", "relative": "here", "relative_missing": "nowhere", "a_file": str(folder / "file"),
             "empty": "", "proc": "/proc", "root": "/"}.get(kind)
    (folder / "here").mkdir()
    (folder / "file").write_text("x")
    if kind == "full":
        with SmallDisk(folder, 64 << 10) as disk:
            if not disk.is_there:
                return "skip"
            subprocess.run(["dd", "if=/dev/zero", f"of={disk.path}/filler"], capture_output=True, check=False)
            said = record(bench, folder, folder / "run.sonde", {"TMPDIR": str(disk.path)})
    else:
        said = record(bench, folder, folder / "run.sonde", {"TMPDIR": value})
    require("nothing was recorded" not in said and f"{2 * TURNS * THREADS:,} spans" in said, said)
    require(not list((folder / "here").iterdir()), "something is left in TMPDIR")
    return expect_whole(bench, folder / "run.sonde")


def under_limit(bench, folder, kind, value):
    def limits():
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (value, value))
    said = record(bench, folder, Path(folder) / "run.sonde", limits=limits)
    require("loaded neither" not in said, said)
    require(not live_files(folder), "a live file is left")
    if (Path(folder) / "run.sonde").exists():
        facts = info(bench, Path(folder) / "run.sonde")
        require(ledger(facts, "events_written") <= EVENTS, "more than was recorded")


def where_nothing_can_be_made(bench, folder, kind):
    """The program runs, or `sonde run` refuses before it starts; nothing is overwritten."""
    folder = Path(folder)
    victim = folder / "victim"
    victim.write_text("precious")
    output = folder / "out.sonde"
    if kind == "link":
        output.symlink_to(victim)
    elif kind == "dangling_link":
        output.symlink_to(folder / "made.sonde")
    elif kind == "live_link":
        (folder / "out.sonde.live").symlink_to(victim)
    elif kind == "live_file":
        (folder / "out.sonde.live").write_text("precious")
    elif kind == "device":
        output = Path("/dev/null")
    elif kind == "full_device":
        output = Path("/dev/full")
    elif kind == "long_name":
        output = folder / ("x" * 240 + ".sonde")
    elif kind == "odd_name":
        output = folder / "a b;c'\"\x1b[31m.sonde"
    elif kind == "no_rights":
        (folder / "locked").mkdir(mode=0o500)
        output = folder / "locked" / "run.sonde"
    elif kind == "fifo":
        os.mkfifo(output)
    elif kind == "old_recording":
        output.write_text("an old one")
    progress = folder / "progress"
    done = run_in([bench.sonde, "run", "-o", str(output), "--", bench.options.counted, str(progress), "100", "1"], folder)
    require(done.status in (0, 1, 2), f"status {done.status}: {done.err!r}")
    if kind != "link":  # a link of the same user is followed
        require(victim.read_text() == "precious", "the victim was overwritten")
    if kind == "live_file":
        require((folder / "out.sonde.live").read_text() == "precious", "a stranger's file was removed")
    require("\x1b" not in done.err.decode(errors="replace"), "an escape reaches the terminal")


def in_namespace(bench, folder, options):
    if subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode != 0:
        return "skip"
    progress = Path(folder) / "progress"
    # Outside the namespace, then inside it.
    for i, before in enumerate(((bench.sonde, "run", "-o", "run.0.sonde", "--", "unshare", *options),
                                ("unshare", *options, bench.sonde, "run", "-o", "run.1.sonde", "--"))):
        done = run_in([*before, bench.options.counted, str(progress), str(TURNS), str(THREADS)], folder)
        require(done.status == 0, f"status {done.status}: {done.err!r}")
        require(b"still running" not in done.err, done.err.decode(errors="replace"))
        expect_whole(bench, Path(folder) / f"run.{i}.sonde")
    return require(not live_files(folder), "a live file is left")


def run(bench):
    quick = bench.options.quick

    def case(name, body, *arguments):
        bench.case("places", name, lambda folder: body(bench, folder, *arguments))

    for size in (300, 64) if quick else (1000, 300, 260, 128, 64, 40, 16, 8, 4, 2, 1):
        case(f"disk_of_{size}_MB", on_small_disk, size << 20)
    case("beside_a_program_that_writes", beside_a_program_that_writes)
    case("many_names_on_a_full_disk", many_names_on_a_full_disk)
    for kind in ("missing", "relative", "full") if quick else ("missing", "relative", "relative_missing", "a_file", "empty", "proc",
                                                               "root", "full"):
        case(f"tmpdir_{kind}", with_tmpdir, kind)
    limits = [("FSIZE", size) for size in (0, 1000, 100_000, 1 << 20, 10 << 20, 100 << 20, 257 << 20)]
    limits += [("NOFILE", count) for count in (12, 16, 64, 210)] + [("AS", size << 20) for size in (700, 1200)]
    limits += [("STACK", 256 << 10), ("STACK", resource.RLIM_INFINITY), ("CORE", 0), ("MEMLOCK", 0)]
    for kind, value in limits[:4] if quick else limits:
        case(f"limit_{kind}_{value}", under_limit, kind, value)
    for kind in ("live_link", "live_file") if quick else ("link", "dangling_link", "live_link", "live_file", "device", "full_device",
                                                          "long_name", "odd_name", "no_rights", "fifo", "old_recording"):
        case(f"output_{kind}", where_nothing_can_be_made, kind)
    for name, options in (("pid", ("--fork", "--pid")), ("proc", ("--fork", "--pid", "--mount-proc")), ("net", ("--net",)),
                          ("user", ("--user",)), ("ipc_uts", ("--ipc", "--uts")), ("all", ("--fork", "--pid", "--mount-proc", "--net",
                                                                                           "--ipc", "--uts", "--user", "--map-root-user"))):
        if not quick or name in ("pid", "proc"):
            case(f"namespace_{name}", in_namespace, options)
