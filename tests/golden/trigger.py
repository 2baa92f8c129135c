#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plays a PyTorch program that asks its daemon what to record, and lets `sonde trigger` tell it.

    tests/golden/trigger.py --bin BUILD/bin
"""

import argparse
import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = struct.Struct("@Q32s")


def ask(client: socket.socket, daemon: str, kind: bytes, body: bytes) -> str | None:
    """The daemon's answer; None while there is no daemon."""
    try:
        client.sendto(HEAD.pack(len(body), kind) + body, daemon)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    answer = client.recv(65536)
    size, answered = HEAD.unpack(answer[:HEAD.size])
    assert answered.rstrip(b"\0") == kind and size == len(answer) - HEAD.size, answer
    return answer[HEAD.size:].decode() if kind == b"req" else str(struct.unpack("@i", answer[HEAD.size:])[0])


def play(sonde: Path, folder: Path):
    pid = 4242
    daemon = str(folder / "dynolog")
    trigger = subprocess.Popen([sonde, "trigger", "--pid", str(pid), "--for", "20ms", "--shapes", "-o", folder / "out",
                                "--wait", "60s"], env=os.environ | {"KINETO_IPC_SOCKET_DIR": str(folder)},
                               stdout=subprocess.PIPE, text=True)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    client.bind(str(folder / "client"))
    client.settimeout(30)
    stranger = struct.pack("@iiqi", 2, 1, 0, 17)
    own = struct.pack("@iiq2i", 2, 2, 0, pid, os.getppid())
    while ask(client, daemon, b"ctxt", struct.pack("@iiq", 0, pid, 0)) is None:
        assert trigger.poll() is None, "sonde trigger ended early"
    assert ask(client, daemon, b"req", stranger) == "", "another process was triggered"
    config = dict(line.split("=", 1) for line in ask(client, daemon, b"req", own).splitlines())
    assert config["ACTIVITIES_DURATION_MSECS"] == "20" and config["PROFILE_REPORT_INPUT_SHAPES"] == "true", config
    written = config["ACTIVITIES_LOG_FILE"].replace(".json", f"_{pid}.json")
    Path(written).write_text("{}", encoding="utf-8")
    out, _ = trigger.communicate(timeout=90)
    assert trigger.returncode == 0 and out.strip() == written, out
    assert not os.path.exists(daemon), "the socket is still there"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    with tempfile.TemporaryDirectory() as folder:
        play(parser.parse_args().bin / "sonde", Path(folder))
    print("triggered")


if __name__ == "__main__":
    sys.exit(main())
