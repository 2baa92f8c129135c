# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib

import pytest

import sonde
from sonde.profiler import profile, record_function

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRANSFORMER = ROOT / "tests/data/torch-2.11-h200/transformer.pt.trace.json.gz"


@pytest.fixture(scope="session")
def transformer():
    """A real recording by PyTorch, with GPU work."""
    return sonde.open(TRANSFORMER)


@pytest.fixture
def recorded():
    """Two ranges, one in the other."""
    with profile() as prof:
        with record_function("outer", "batch 3"):
            with record_function("inner"):
                pass
    return prof
