# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`sonde run` puts this folder first in PYTHONPATH if it is asked for what only Python knows, so that it runs before the program."""

import importlib
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _torch_import():
    """Does not import the package, because a program without torch does not need it."""
    path = os.path.join(os.path.dirname(_here), "_torch_import.py")
    spec = importlib.util.spec_from_file_location("_sonde_torch_import", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _follow_torch(wanted) -> None:
    try:
        run = importlib.import_module("sonde._run")
    except ImportError as error:
        print(f"sonde: recording goes on without the package for Python: {error}", file=sys.stderr)
    else:
        run.follow_torch(wanted)


def _customize() -> None:
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _here]
    # The module that this one hides.
    del sys.modules["sitecustomize"]
    try:
        importlib.import_module("sitecustomize")
    except ImportError:
        pass
    wanted = os.environ.get("SONDE_RUN_PYTHON", "stand-in").split(",")
    _torch_import().when_torch_is_there(lambda: _follow_torch(wanted))


_customize()
