# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces: what `sonde.open` returns."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

from sonde import _native
from sonde._averages import FunctionEventAvg
from sonde._event_list import EventList
from sonde._files import _write_whole
from sonde._function_event import FunctionEvent

Column = _native.Column

_SHOWN_ROWS = 10


class Table:
    """A table of a trace: columns by name.

    `table["start_ns"]` is a column, which numpy reads in place: `numpy.asarray(table["start_ns"])`. pandas, polars,
    DuckDB and pyarrow read a whole table by `__arrow_c_stream__`: `polars.from_arrow(table)`. Nothing is copied.
    """

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Its name in docs/trace-model.md."""
        return self._native.name

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return self._native.columns

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, column: str) -> Column:
        return self._native.column(column)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def row(self, index: int) -> Dict[str, Any]:
        """One row, with texts instead of their numbers, and None for unknown values."""
        if index < 0:
            index += len(self)
        return {name: self[name][index] for name in self.columns}

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<sonde.Table {self.name}: {_counted(len(self), 'row')}, {_counted(len(self.columns), 'column')}>"

    def _repr_html_(self) -> str:
        rows = [self.row(i) for i in range(min(len(self), _SHOWN_ROWS))]
        # A column without values is left out.
        shown = [name for name in self.columns if any(row[name] not in (None, "", 0) for row in rows)]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(row[name]))}</td>" for name in shown) + "</tr>" for row in rows)
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr>{head}</tr>{body}</table>"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


class Answer(Dict[str, Any]):
    """What the program answers, as `--format json` prints it. `print` shows it as text."""

    def __init__(self, ask: Callable[[str], str]) -> None:
        super().__init__(json.loads(ask("json")))
        self._ask = ask

    def __str__(self) -> str:
        return self._ask("text")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class Trace:
    """A recording: tables, and the answers of the program `sonde`. It never changes."""

    def __init__(self, native: Any, path: str = "") -> None:
        self._native = native
        self._events: Optional[EventList[FunctionEvent]] = None
        self.path = path

    @property
    def tables(self) -> List[str]:
        """The names of all tables; each is an attribute too, such as `trace.spans`."""
        return _native.table_names()

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_") or name not in _native.table_names():
            raise AttributeError(f"a trace has no attribute or table '{name}'")
        table = Table(self._native.table(name))
        self.__dict__[name] = table
        return table

    def __dir__(self) -> List[str]:
        return sorted(set(super().__dir__()) | set(self.tables))

    @property
    def first_ns(self) -> int:
        """When the trace begins, in nanoseconds since 1970."""
        return self._native.first_ns

    @property
    def last_ns(self) -> int:
        """When it ends."""
        return self._native.last_ns

    @property
    def metadata(self) -> Dict[str, Any]:
        """Facts about the recording as a whole, with values parsed from JSON."""
        table = self._table_of("metadata")
        return {row["key"]: _json_or_text(row["value"]) for row in (table.row(i) for i in range(len(table)))}

    def _table_of(self, name: str) -> Table:
        return Table(self._native.table(name))

    def events(self) -> EventList[FunctionEvent]:
        """PyTorch's list of events. An event is made when you look at it."""
        if self._events is None:
            self._events = EventList._of_native(self._native.events)
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList[FunctionEventAvg]:
        """PyTorch's `key_averages()`: events added up by their names."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, *, group_by_input_shape: bool = False,
              group_by_stack_n: int = 0, group_by_overload_name: bool = False, **options: Any) -> str:
        """PyTorch's operator table, as `sonde table` prints it. `options` are those of `EventList.table`."""
        averages = self.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)
        return averages.table(sort_by, row_limit, **options)

    def report(self) -> Answer:
        """What could be faster, as `sonde report` says it."""
        return Answer(lambda form: self._native.report(self._name, form))

    def memory(self, device: str = "", row_limit: int = 10) -> Answer:
        """Who held the memory, as `sonde memory` says it."""
        return Answer(lambda form: self._native.memory(self._name, form, device, "", row_limit))

    def graphs(self, row_limit: int = 10) -> Answer:
        """How much ran in captured graphs, as `sonde graphs` says it."""
        return Answer(lambda form: self._native.graphs(self._name, form, row_limit))

    def critical_path(self, row_limit: int = 20) -> Answer:
        """What the program's time consists of, as `sonde critical-path` says it."""
        return Answer(lambda form: self._native.critical_path(self._name, form, row_limit))

    def what_if(self, scale: Optional[Mapping[str, float]] = None, remove: Sequence[str] = (), no_sync: bool = False) -> Answer:
        """How long the program would take if something were different, as `sonde whatif` says it:
        `what_if(scale={"aten::mm": 0.5})`, with patterns for names of spans and factors for their times; `remove` names what is not
        there, and `no_sync` lets calls not wait for a device."""
        factors = [f"{pattern}={factor}" for pattern, factor in (scale or {}).items()]
        return Answer(lambda form: self._native.what_if(self._name, form, factors, list(remove), no_sync))

    def export(self, path: str, metric: str = "") -> None:
        """Writes the trace in the format that the name ends in: .json, .json.gz (Chrome and Perfetto), .pftrace (Perfetto),
        .stacks (flame graphs; `metric` is their weight), .csv (the operator table) or .sonde."""
        self._native.export(self.path, os.fspath(path), metric)

    def export_report(self, path: str) -> None:
        """Writes the report: .html, .md, .json or .txt."""
        path = os.fspath(path)
        forms = {".html": "html", ".md": "md", ".json": "json", ".txt": "text"}
        form = forms.get(os.path.splitext(path)[1])
        if form is None:
            raise ValueError(f"{path}: the name of a report must end in .html, .md, .json or .txt")
        _write_whole(path, self._native.report(self._name, form))

    def export_page(self, path: str, at: str = "", most_spans: int = 1_000_000) -> None:
        """Writes the page of `sonde view` as one .html file. `at` is what it shows first, such as "view=memory"; of a trace
        with more than `most_spans` spans, the timeline has the beginning."""
        path = os.fspath(path)
        if not path.endswith(".html"):
            raise ValueError(f"{path}: the name of a page must end in .html")
        self._native.page(self._name, path, at, most_spans)

    def export_memory_timeline(self, path: str, device: str = "") -> None:
        """Writes who held the memory over time: .html, .svg, .json, .json.gz or .raw.json.gz."""
        self._native.memory(self._name, "text", device, os.fspath(path), 10)

    @property
    def _name(self) -> str:
        return self.path or "this recording"

    def __repr__(self) -> str:
        seconds = (self.last_ns - self.first_ns) / 1e9
        return f"<sonde.Trace {self.path or '(recorded)'}: {_counted(len(self._table_of('spans')), 'span')} in {seconds:.3f} s>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.key_averages()._repr_html_()}"


def _json_or_text(value: Optional[str]) -> Any:
    try:
        return json.loads(value or "null")
    except ValueError:
        return value


def open(path: "os.PathLike[str] | str", *, threads: int = 0, limit_size: bool = True) -> Trace:
    """Opens a trace: a `.sonde` file, Kineto's or Chrome's JSON (also `.gz`), a database of nvprof or Nsight Systems, or a
    snapshot of PyTorch's CUDA allocator. A damaged file opens with what is left of it; `trace.ledger` says what is not.

    `threads` is how many to use, 0 for one per core. `limit_size` refuses files that take far more memory than traces of
    their size do.
    """
    path = os.fspath(path)
    return Trace(_native.open(path, threads, limit_size), path)
