#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What recording costs an operator: a loop of the smallest one, alone or under torch's profiler.

    python3 tests/torch/op_loop.py            nanoseconds per operator; also under `sonde run`
    python3 tests/torch/op_loop.py torch      the same under torch.profiler, and what its stop and table take
    python3 tests/torch/op_loop.py et FILE    the same under torch's observer of execution traces
"""

import sys
import time

import torch


def loop(count: int) -> float:
    a, b, out = torch.ones(1), torch.ones(1), torch.empty(1)
    begin = time.process_time()
    for _ in range(count):
        torch.add(a, b, out=out)
    return (time.process_time() - begin) / count * 1e9


def main() -> int:
    loop(50_000)
    if len(sys.argv) < 2:
        print(f"{min(loop(100_000) for _ in range(5)):.0f} ns an operator")
        return 0
    if sys.argv[1] == "et":
        observer = torch.profiler.ExecutionTraceObserver()
        observer.register_callback(sys.argv[2])
        observer.start()
        print(f"{min(loop(100_000) for _ in range(1)):.0f} ns an operator under torch's observer of execution traces")
        observer.stop()
        observer.unregister_callback()
        return 0
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        print(f"{min(loop(100_000) for _ in range(1)):.0f} ns an operator under torch.profiler")
        begin = time.process_time()
    stopped = time.process_time()
    prof.key_averages().table()
    print(f"then {stopped - begin:.3f} s to stop and {time.process_time() - stopped:.3f} s to the table, for 100,000 operators")
    return 0


if __name__ == "__main__":
    sys.exit(main())
