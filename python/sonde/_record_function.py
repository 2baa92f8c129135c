# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, Dict, List, Optional, Sequence

from sonde import _native
from sonde._tracing import is_traced


class _RecordFunctionFast:
    """A range that looks like an operator: it has inputs, and keywords of plain values. May be entered again and again."""

    def __init__(self, name: str, input_values: Optional[Sequence[Any]] = None, keyword_values: Optional[Dict[str, Any]] = None) -> None:
        self.name = name
        self._inputs = input_values
        self._keywords = dict(keyword_values or {})
        # As in PyTorch, this keyword says what kind of range it is.
        self._is_annotation = self._keywords.get("scope") == "user_scope"
        if self._is_annotation:
            self._keywords = {}
        self._ranges: List[Any] = []

    def __enter__(self) -> _RecordFunctionFast:
        self._ranges.append(_native.fast_begin(self.name, self._inputs, self._keywords, self._is_annotation))
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        begun = self._ranges.pop()
        if begun is not None:
            begun.end()


class record_function(ContextDecorator):
    """Marks a block, or a function as a decorator, with a name that tables and timelines show.

        with record_function("forward"):
            output = model(inputs)

    While nothing records, it costs about a microsecond.
    """

    def __init__(self, name: str, args: Optional[str] = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a range must be a str, not {type(name).__name__}")
        self.name = name
        self.args = args
        # Whether leaving the block ends the range.
        self.run_callbacks_on_exit = True
        self._range: Any = None

    def _recreate_cm(self) -> record_function:
        # A decorated function may call itself.
        return self.__class__(self.name, self.args)

    def __enter__(self) -> record_function:
        if is_traced():
            return self  # as torch's own, it is not in the graph
        self._range = _native.range_begin(self.name, self.args)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if self.run_callbacks_on_exit:
            self._end()

    def _end(self) -> None:
        if self._range is not None:
            self._range.end()

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """Ends the range when the future is done, instead of at the end of the block. Returns a future with its value."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        if not hasattr(fut, "then"):
            fut.add_done_callback(lambda done: self._end())
            return fut

        def end_and_pass_on(done: Any) -> Any:
            self._end()
            return done.value()

        return fut.then(end_and_pass_on)
