# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch._dynamo.profiler`: how much of a program runs in captured graphs, by PyTorch's rules.

    from sonde.dynamo import profiler
    prof = profiler.Profiler()
    with prof.prof:
        compiled(inputs)                  # compiled with backend=profiler.fx_insert_profiling
    print(prof.results())

`sonde.Trace.graphs` answers the same question for any trace, and with shares that add up.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, List, Union

from sonde._record_function import record_function
from sonde.profiler import ProfilerActivity, profile


@dataclasses.dataclass
class ProfileMetrics:
    """Time, and numbers of operators, fusions and graphs."""

    microseconds: float = 0.0
    operators: float = 0
    fusions: float = 0
    graphs: int = 0

    def __iadd__(self, other: ProfileMetrics) -> ProfileMetrics:
        self.microseconds += other.microseconds
        self.operators += other.operators
        self.fusions += other.fusions
        return self

    def __add__(self, other: ProfileMetrics) -> ProfileMetrics:
        return ProfileMetrics(self.microseconds + other.microseconds, self.operators + other.operators, self.fusions + other.fusions)

    def __truediv__(self, other: Union[int, ProfileMetrics]) -> ProfileMetrics:
        by = ProfileMetrics(other, other, other) if isinstance(other, int) else other
        return ProfileMetrics(self.microseconds / max(1, by.microseconds), self.operators / max(1, by.operators),
                              self.fusions / max(1, by.fusions))

    def __str__(self) -> str:
        return f"{self.operators:4.0%} ops {self.microseconds:4.0%} time"

    def tocsv(self) -> List[float]:
        """Operators and time."""
        return [self.operators, self.microseconds]


class ProfileResult:
    """What ran in captured graphs, of all that ran."""

    def __init__(self, captured: ProfileMetrics, total: ProfileMetrics, unique_graphs: int) -> None:
        self.captured = captured or ProfileMetrics()
        self.total = total or ProfileMetrics()
        self.unique_graphs = unique_graphs

    def __iadd__(self, other: ProfileResult) -> ProfileResult:
        self.captured += other.captured
        self.total += other.total
        self.unique_graphs += other.unique_graphs
        return self

    def percent(self) -> ProfileMetrics:
        """The captured share of each."""
        return self.captured / self.total

    def __str__(self) -> str:
        return (f"{self.unique_graphs:2} graphs {self.captured.graphs:2} graph calls "
                f"{self.captured.operators:4}/{self.total.operators:4} = " + str(self.percent()))

    def tocsv(self) -> List[float]:
        """Graphs, their calls, operators in them, all operators, and the shares of operators and time."""
        return [self.unique_graphs, self.captured.graphs, self.captured.operators, self.total.operators] + self.percent().tocsv()


def should_print_missing() -> bool:
    """Whether TORCHDYNAMO_PRINT_MISSING is 1: results() then prints where operators outside graphs were called from."""
    return os.environ.get("TORCHDYNAMO_PRINT_MISSING") == "1"


class Profiler:
    """Counts what runs in captured graphs; `prof` is the profiler to record with."""

    unique_graphs = 0

    def __init__(self) -> None:
        self.prof = profile(activities=[ProfilerActivity.CPU], with_stack=should_print_missing())

    def results(self) -> ProfileResult:
        """Counts the graphs that were made since the last results() of any profiler."""
        native = self.prof.events()._events
        captured, total, missing = native.dynamo()
        if should_print_missing():
            for line in missing:
                print(line)
        Profiler.unique_graphs, graphs = 0, Profiler.unique_graphs
        return ProfileResult(_metrics(captured), _metrics(total), graphs)


def _metrics(values: Any) -> ProfileMetrics:
    microseconds, operators, fusions, graphs = values
    return ProfileMetrics(microseconds, int(operators), int(fusions), graphs)


def fx_insert_profiling(gm: Any, example_inputs: List[Any]) -> Any:
    """A backend of torch.compile that marks the calls of each graph."""

    def wrapped(*args: Any) -> Any:
        with record_function("TORCHDYNAMO"):
            return gm.forward(*args)

    Profiler.unique_graphs += 1
    return wrapped


__all__ = ["ProfileMetrics", "ProfileResult", "Profiler", "fx_insert_profiling", "should_print_missing"]
