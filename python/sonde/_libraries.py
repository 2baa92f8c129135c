# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads Sonde's libraries for a package that pip has installed apart from them."""

from __future__ import annotations

import ctypes
import importlib
import os


def load_libraries() -> None:
    try:
        paths = importlib.import_module("sonde._where").LIBRARIES
    except ImportError:
        return  # the module knows where they are
    for path in paths:
        if not os.path.exists(path):
            raise ImportError(f"{path} is missing: Sonde was moved or removed; install the package sonde again")
        ctypes.CDLL(path)
