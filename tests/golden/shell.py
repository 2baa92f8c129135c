#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shell of `sonde sql` in a terminal: completion, history, Ctrl-C at the prompt and in a query.

    tests/golden/shell.py --bin BUILD/bin
"""

import argparse
import os
import pty
import select
import sys
import tempfile
import time
from pathlib import Path

TRACE = Path(__file__).resolve().parent.parent / "data/torch-2.11-h200/graph_streams.pt.trace.json.gz"
PATIENCE_S = 60


class Shell:
    def __init__(self, sonde: Path, state: str):
        self.seen = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "XDG_STATE_HOME": state, "TERM": "xterm"}
            os.execve(sonde, ["sonde", "sql", str(TRACE)], environment)
        self.wait_for("sonde> ")

    def wait_for(self, text: str, poke: str = ""):
        """Reads until the text comes, and takes what is up to it; sends `poke` whenever nothing comes for a while."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            if time.monotonic() > end:
                sys.exit(f"waited for {text!r}, saw {self.seen!r}")
            ready, _, _ = select.select([self.terminal], [], [], 0.2)
            try:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace") if ready else ""
            except OSError:
                sys.exit(f"the shell ended; waited for {text!r}, saw {self.seen!r}")
            if not ready and poke:
                self.send(poke)
        self.seen = self.seen.split(text, 1)[1]

    def send(self, text: str):
        os.write(self.terminal, text.encode())

    def quit(self):
        self.send(".quit\n")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.terminal)
        if status != 0:
            sys.exit(f"the shell ended with status {status}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    sonde = parser.parse_args().bin / "sonde"
    with tempfile.TemporaryDirectory() as state:
        shell = Shell(sonde, state)
        shell.send("SELECT 20 +\n")
        shell.wait_for("...> ")
        shell.send("22 AS answer;\n")
        shell.wait_for(" 42\r\n")
        shell.wait_for("sonde> ")
        if not (Path(state) / "sonde").is_dir():
            print("without editline: only lines are read")
            return shell.quit()
        shell.send("SELECT count(*) FROM kernel_s\t")
        shell.wait_for("tats")
        shell.wait_for("sonde> ", poke="\x03")
        shell.send("SELECT 6 * 7 AS again;\n")
        shell.wait_for(" 42\r\n")
        shell.send("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\n")
        shell.wait_for("the query was interrupted", poke="\x03")
        shell.send(";\n")
        shell.wait_for("sonde> ")
        shell.quit()
        shell = Shell(sonde, state)
        shell.send("\x10\x10\x10")  # before .quit and the semicolon
        shell.wait_for("WITH RECURSIVE")
        shell.wait_for("sonde> ", poke="\x03")
        shell.quit()
    return None


if __name__ == "__main__":
    main()
