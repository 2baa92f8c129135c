# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that do what recorders do not expect, each compared with itself alone: output, status, files."""
import os
import subprocess
import sys
from pathlib import Path

from trial import as_shell_says, live_files, require, run as run_in, warn

POLICIES = ("spill", "drop", "ring")
CANNOT = 77  # the status of a program that lacks the rights for what it tries
# The ones that find most, for the quick level.
QUICK = ("exit_early", "_exit", "throw", "sigkill", "main_thread_ends_first", "exit_thread_call", "fork_and_record",
         "fork_while_others_work", "fork_under_signals", "daemonise", "exec_without_environment", "count_signals", "stack_handler_minimum",
         "stack_thread_16", "late_destructors", "limit_processes", "limit_files", "close_and_reuse", "number_descriptors",
         "die_at_openat_all", "die_at_socket", "die_at_pwrite", "forbid_counter", "forbid_nearly_all", "change_root",
         "garbage", "script_without_first_line", "python_os_exit", "python_subprocess", "sanitizer_address", "sanitizer_thread")
PYTHON = {
    "python_exit": "import sys; print('x'); sys.exit(5)",
    "python_os_exit": "import os; print('x', flush=True); os._exit(5)",
    "python_exception": "raise ValueError('nobody catches it')",
    "python_threads": "import threading as t\nfor i in range(20):\n  x = t.Thread(target=print, args=(i,)); x.start(); x.join()",
    "python_daemon_thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(100,), daemon=True).start()\nprint('x')",
    "python_fork": "import os\np = os.fork()\nif p == 0:\n  os._exit(3)\nprint(os.WEXITSTATUS(os.waitpid(p, 0)[1]))",
    "python_subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(7)'], capture_output=True).stdout)",
    "python_multiprocessing": "import multiprocessing as m\nif __name__ == '__main__':\n  with m.get_context('fork').Pool(2) as p:\n"
                              "    print(p.map(abs, [-1, -2]))",
    "python_interrupt": "import os, signal\ntry:\n  os.kill(os.getpid(), signal.SIGINT)\n  [0 for _ in range(10**7)]\n"
                        "except KeyboardInterrupt:\n  print('interrupted')",
    "python_signal": "import signal, os\nsignal.signal(signal.SIGUSR1, lambda *a: print('usr1'))\nos.kill(os.getpid(), signal.SIGUSR1)",
    "python_killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "python_exec": "import os; os.execvp('sh', ['sh', '-c', 'echo x; exit 3'])",
    "python_closerange": "import os; os.closerange(3, 4096); print('x')",
}


def with_scopes(bench, text):
    """The same script after it has loaded the recorder, so that it is recorded."""
    return f"import ctypes; ctypes.CDLL({bench.library!r})\n{text}"


def scripts(folder):
    """Files that are programs in some way."""
    texts = {"script": "#!/bin/sh\necho script; exit 3\n", "script_without_first_line": "echo script; exit 4\n",
             "script_of_env": "#!/usr/bin/env python3\nprint('env')\n", "empty": "",
             "garbage": "\x7fELF\x02\x01\x01\0\0not really\0", "script_of_nothing": "#!/no/such/shell\necho x\n"}
    for name, text in texts.items():
        path = Path(folder) / name
        path.write_bytes(text.encode("latin-1"))
        path.chmod(0o755)
    return texts


def compare(bench, folder, command, policy="spill"):
    """Runs it alone, then recorded: nobody outside may see a difference."""
    sides = []
    for recorded in (False, True):
        place = Path(folder) / ("recorded" if recorded else "alone")
        place.mkdir()
        place.chmod(0o777)  # for programs that change their user
        before = ["/bin/sh", "-c", 'exec "$@"', "sh"]  # a shell reports what cannot be started, as sonde run does
        if recorded:
            before = [bench.sonde, "run", "-q", "--force", "--policy", policy, "-o", "run.sonde", "--"]
        sides.append(run_in([*before, *command], place, {"LC_ALL": "C"}))
    alone, recorded = sides
    if alone.status == CANNOT:
        return "skip"
    require(recorded.status == as_shell_says(alone.status),
            f"status {recorded.status}, alone {as_shell_says(alone.status)}; said {recorded.err[-300:]!r}")
    if alone.status not in (126, 127):  # there the words are the shell's
        require(recorded.out == alone.out, f"printed {recorded.out[-300:]!r}, alone {alone.out[-300:]!r}")
        require(recorded.err == alone.err, f"said {recorded.err[-300:]!r}, alone {alone.err[-300:]!r}")
    require(recorded.files == alone.files, f"left {list(recorded.files)}, alone {list(alone.files)}")
    left = live_files(Path(folder) / "recorded")
    # The child that outlives its parent may still be at work.
    require(not left or "orphan" in command, f"left {left}")
    return None


def sanitized(bench, name):
    program = Path(bench.options.sanitized) / name
    return program if os.access(program, os.X_OK) else None


def commands(bench, folder):
    """Names and commands of all programs."""
    listed = subprocess.run([bench.options.awkward, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in listed:
        yield name, [bench.options.awkward, name]
    for name, text in PYTHON.items():
        yield name, [sys.executable, "-c", with_scopes(bench, text)]
    for name in scripts(folder):
        yield name, [str(Path(folder) / name)]
    for kind in ("address", "thread", "undefined"):
        if program := sanitized(bench, f"stress_{kind}"):
            yield f"sanitizer_{kind}", [str(program)]
            yield f"sanitizer_{kind}_in_a_shell", ["/bin/sh", "-c", f"{program}; echo $?"]


def finds_what_it_is_for(bench, folder, kind, fault):
    """A sanitizer still finds a fault of the program, and only that."""
    program = sanitized(bench, f"stress_{kind}")
    if program is None:
        return "skip"
    alone = run_in([str(program), fault], folder)
    recorded = run_in([bench.sonde, "run", "-q", "--force", "-o", "run.sonde", "--", str(program), fault], folder)
    require(recorded.status == alone.status, f"status {recorded.status}, alone {alone.status}")
    return require(b"Sanitizer" in recorded.err and b"libsonde" not in recorded.err, recorded.err.decode(errors="replace")[-500:])


def run(bench):
    import tempfile  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory(prefix="sonde-stress-") as programs:
        Path(programs).chmod(0o755)
        for name, command in commands(bench, programs):
            if bench.options.quick and name not in QUICK:
                continue
            for policy in ("spill",) if bench.options.quick else POLICIES:
                bench.case("awkward", f"{name}.{policy}", lambda folder, c=command, p=policy: compare(bench, folder, c, p))
    for kind, fault in (("address", "leak"), ("thread", "race")):
        bench.case("awkward", f"sanitizer_{kind}_{fault}", lambda folder, k=kind, f=fault: finds_what_it_is_for(bench, folder, k, f))


def run_stacks(bench):
    """The programs on small stacks again and again: what lies where on a stack differs from run to run."""
    listed = subprocess.run([bench.options.awkward, "--list"], capture_output=True, text=True, check=True).stdout.split()
    if bench.options.quick:
        return warn("stacks: among the awkward ones")
    for name in (name for name in listed if name.startswith("stack_")):
        for i in range(bench.options.count or 20):
            policy = POLICIES[i % 3]
            bench.case("stacks", f"{name}.{i}", lambda folder, n=name, p=policy: compare(bench, folder, [bench.options.awkward, n], p))
    return None
