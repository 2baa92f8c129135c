# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators were called with, from the tables of a trace."""

from __future__ import annotations

import ast
from typing import Any, Dict, List, Optional


# What PyTorch calls an argument that is no tensor.
_TYPE_OF_KIND = {"tensor_list": "TensorList", "scalar": "Scalar", "scalar_list": "ScalarList"}


def _value(text: Optional[str]) -> Any:
    """6, False or [64, 32] of what a trace has as text; None of what has no value, such as a tensor."""
    if not text:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class Arguments:
    """The arguments of the calls in one trace."""

    def __init__(self, native: Any) -> None:
        spans, lists, rows, dims = (native.table(name) for name in ("spans", "argument_lists", "op_arguments", "dims"))
        self._list_of = spans.column("arguments")
        self._first, self._count = lists.column("first"), lists.column("count")
        self._rows = {name: rows.column(name) for name in rows.columns}
        self._sizes = dims.column("value")

    def _of(self, span: Optional[int], role: str) -> List[int]:
        """Rows of op_arguments, without the elements of lists."""
        which = None if span is None else self._list_of[span]
        if which is None:
            return []
        first = self._first[which]
        rows = range(first, first + self._count[which])
        return [row for row in rows if self._rows["role"][row] == role and self._rows["element"][row] is None]

    def concrete_inputs(self, span: Optional[int]) -> List[Any]:
        return [_value(self._rows["value"][row]) for row in self._of(span, "input")]

    def keyword_inputs(self, span: Optional[int]) -> Dict[str, Any]:
        return {self._rows["name"][row]: _value(self._rows["value"][row]) for row in self._of(span, "keyword")}

    def input_dtypes(self, span: Optional[int]) -> List[str]:
        return [self._rows["dtype"][row] or _TYPE_OF_KIND.get(self._rows["kind"][row], "") for row in self._of(span, "input")]

    def input_strides(self, span: Optional[int]) -> List[List[int]]:
        return [self._strides(row) for row in self._of(span, "input")]

    def _strides(self, row: int) -> List[int]:
        first, count = self._rows["strides_first"][row], self._rows["strides_count"][row]
        return [] if first is None or not count else [self._sizes[i] for i in range(first, first + count)]
