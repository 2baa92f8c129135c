# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import os
import socket
import time
from typing import Any, Callable, Optional


def tensorboard_trace_handler(dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False,
                              use_python_export: bool = False) -> Callable[[Any], None]:
    """For `on_trace_ready`: exports each cycle as `<dir_name>/<worker_name>.<time in ns>.pt.trace.json`."""

    def handler_fn(prof: Any) -> None:
        nonlocal worker_name
        try:
            os.makedirs(dir_name, exist_ok=True)
        except Exception as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker_name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        # Nanoseconds, so that cycles in quick succession have different names.
        name = f"{worker_name}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler_fn
