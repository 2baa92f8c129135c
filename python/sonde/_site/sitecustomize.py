# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`sonde run --as-torch-profiler` puts this folder first in PYTHONPATH, so that it runs before the program."""

import importlib
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _stand_in() -> None:
    """Does not import the package, because a program without torch does not need it."""
    path = os.path.join(os.path.dirname(_here), "_stand_in.py")
    spec = importlib.util.spec_from_file_location("_sonde_stand_in", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.stand_in()


def _customize() -> None:
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _here]
    # The module that this one hides.
    del sys.modules["sitecustomize"]
    try:
        importlib.import_module("sitecustomize")
    except ImportError:
        pass
    _stand_in()


_customize()
