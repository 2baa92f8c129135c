# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sonde, a profiler for tensor programs.

    import sonde
    trace = sonde.open("train.sonde")          # or a file that torch.profiler exported
    print(trace.table(sort_by="self_cpu_time_total", row_limit=10))
    print(trace.report())

    from sonde.profiler import profile         # torch.profiler's names
    with profile(record_shapes=True) as prof:
        train()
    print(prof.key_averages().table())

docs/python.md is the manual.
"""

from __future__ import annotations

from sonde._libraries import load_libraries

load_libraries()

from sonde import _native

_native.check_interpreter()

from sonde._native import is_recording, version as __version__
from sonde._trace import Answer, Column, Table, Trace, open

__all__ = ["Answer", "Column", "Table", "Trace", "__version__", "is_recording", "open"]
