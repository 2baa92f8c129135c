# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mypy: strict-equality, warn-unused-ignores, disallow-untyped-calls, disallow-untyped-decorators
"""What a type checker sees of the package. Lines that are marked must be errors: a type that were unknown would not be one."""

import sonde
from sonde.profiler import ProfilerActivity, profile, record_function, schedule


@record_function("decorated")
def decorated(number: int) -> int:
    return number


def use() -> None:
    trace = sonde.open("train.sonde", threads=2)
    rows: int = len(trace.spans)
    first = trace.events()[0]
    microseconds: float = first.cpu_time_total + trace.key_averages()[0].self_cpu_time_total
    wrong_event: int = trace.events()[0]  # type: ignore[assignment]
    wrong_row: str = trace.key_averages()[0].count  # type: ignore[assignment]
    wrong_name: int = first.name  # type: ignore[assignment]
    wrong_result: str = decorated(3)  # type: ignore[assignment]
    wrong_table: int = trace.table(sort_by="self_cpu_time_total")  # type: ignore[assignment]
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2), with_stack=True) as prof:
        prof.step()
    wrong_list: int = prof.events()  # type: ignore[assignment]
    children: int = sum(len(event.cpu_children) for event in prof.events())
    print(rows, microseconds, children, wrong_event, wrong_row, wrong_name, wrong_result, wrong_table, wrong_list)
