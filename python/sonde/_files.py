# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from typing import Any


def _write_whole(path: str, text: str) -> None:
    partial = f"{path}.part{os.getpid()}"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def _export_chrome_trace(native: Any, path: str) -> None:
    """Takes any name, as PyTorch does; the format is JSON."""
    path = os.fspath(path)
    if path.endswith((".json", ".json.gz")):
        native.export("", path, "")
        return
    suffix = ".json.gz" if path.endswith(".gz") else ".json"
    partial = f"{path}.part{os.getpid()}{suffix}"
    try:
        native.export("", partial, "")
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
