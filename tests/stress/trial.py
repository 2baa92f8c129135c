# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the parts share: programs in folders of their own, what is left of them, and the counts."""
import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

TIMEOUT_S = 300
# A recording of less than this in its buffers does not fill them, whatever the machine does meanwhile.
EVENTS_OF_A_CHUNK = 4096
CHUNKS_MOVED_AT_ONCE = 16


class Failed(Exception):
    """A claim that does not hold."""


class Outcome:
    """How a program ended, what it said, and which files it left."""

    def __init__(self, status, out, err, files):
        self.status, self.out, self.err, self.files = status, out, err, files


class Bench:
    """Where programs are, and what came of them."""

    def __init__(self, options, rng):
        self.options, self.rng = options, rng
        self.sonde, self.library = options.sonde, options.library
        self.tried, self.held, self.skipped = (collections.Counter() for _ in range(3))
        self.failures = []

    def case(self, part, name, body):
        """body(folder) in a folder of its own; whatever it raises is a failure. It returns "skip" if it cannot be tried here."""
        if self.options.only not in f"{part}.{name}":
            return
        for _ in range(self.options.times):
            folder = pathlib.Path(tempfile.mkdtemp(prefix="sonde-stress-"))
            try:
                with findings_of_sanitizers() if self.options.inside else contextlib.nullcontext():
                    skipped = body(folder) == "skip"
                (self.skipped if skipped else self.tried)[part] += 1
                self.held[part] += 0 if skipped else 1
            except (Failed, subprocess.TimeoutExpired, OSError, ValueError) as error:
                self.tried[part] += 1
                self.failures.append(f"{part}.{name}: {error}")
                print(f"FAILED {self.failures[-1]}", flush=True)
            finally:
                os.chdir("/")
                end_what_works_in(folder)
                shutil.rmtree(folder, ignore_errors=True)

    def report(self):
        for part in sorted(set(self.tried) | set(self.skipped)):
            skipped = f", {self.skipped[part]} not possible here" if self.skipped[part] else ""
            print(f"{part}: {self.tried[part]} tried, {self.held[part]} held{skipped}")
        return 1 if self.failures else 0


@contextlib.contextmanager
def findings_of_sanitizers():
    """Whatever a sanitizer writes about the programs that are started inside is a failure."""
    with tempfile.TemporaryDirectory(prefix="sonde-findings-") as logs:
        before = dict(os.environ)
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            os.environ[name] = ":".join(filter(None, (before.get(name), f"log_path={logs}/found")))
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
        for path in pathlib.Path(logs).iterdir():
            raise Failed(f"a sanitizer says: {path.read_text(errors='replace')[:3000]}")


def require(condition, text):
    if not condition:
        raise Failed(text)


def run(command, folder, env=None, stdin=b"one\ntwo\n", limits=None):
    """Runs a command in a process group of its own; whatever is left of the group is killed."""
    child = subprocess.Popen(command, cwd=folder, env={**os.environ, **(env or {})}, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=limits)
    try:
        out, err = child.communicate(stdin, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        kill_group(child)
        raise Failed(f"did not end: {' '.join(map(str, command))}") from None
    return Outcome(child.returncode, out, err, files_in(folder))


def kill_group(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def end_what_works_in(folder):
    """A case that failed may leave programs behind. Only they work in its folder."""
    for link in pathlib.Path("/proc").glob("[0-9]*/cwd"):
        try:
            if pathlib.Path(os.readlink(link)).is_relative_to(folder):
                os.kill(int(link.parent.name), signal.SIGKILL)
        except OSError:
            pass  # it has ended, or belongs to somebody else


def files_in(folder):
    """Their names, modes and contents; not those that Sonde makes."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith("run.") and ".sonde" in name:
            continue
        mode = path.lstat().st_mode
        found[name] = (mode, path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else b"")
    return found


def live_files(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*.live"))


def as_shell_says(status):
    """What `sonde run` returns for a program that ended so."""
    return 128 - status if status < 0 else status


def info(bench, path):
    """What `sonde info` says of a recording."""
    done = subprocess.run([bench.sonde, "info", str(path), "--format", "json"], capture_output=True, timeout=TIMEOUT_S, check=False)
    require(done.returncode == 0, f"sonde info: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def ledger(facts, *kinds):
    return sum(row["count"] for row in facts["ledger"] if row["kind"] in kinds)


def check_sums(facts, least, most, may_lose, moved=0):
    """The events that a recording has and those it says were lost are together what was recorded: `least` to `most`.
    Buffers that were being moved when the kill came may count twice or not at all."""
    kept = ledger(facts, "events_written")
    lost = ledger(facts, "dropped_by_budget", "overwritten", "unwritten")
    text = f"{kept} kept and {lost} lost of {least} to {most}"
    require(kept + lost + moved >= least and kept + lost <= most + moved, text)
    require(may_lose or lost == 0, f"nothing had to be lost, but {text}")
    for kind in ("damaged_bytes", "undecodable", "unmatched", "chunks_lost", "dropped_in_signal"):
        require(may_lose or ledger(facts, kind) == 0, f"{kind}: {ledger(facts, kind)}")


def warn(text):
    print(text, file=sys.stderr, flush=True)
