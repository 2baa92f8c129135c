# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators were called with, from the tables of a trace."""

from __future__ import annotations

import ast
import json
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


def _keyword_value(text: Optional[str]) -> Any:
    """JSON, or a text that is none."""
    try:
        return json.loads(text or "null")
    except ValueError:
        return text


class Arguments:
    """The arguments of the calls in one trace."""

    def __init__(self, native: Any) -> None:
        spans, lists, rows, dims = (native.table(name) for name in ("spans", "argument_lists", "op_arguments", "dims"))
        self._list_of = spans.column("arguments")
        self._first, self._count = lists.column("first"), lists.column("count")
        self._rows = {name: rows.column(name) for name in rows.columns}
        self._sizes = dims.column("value")

    def _of(self, span: Optional[int], role: str, with_elements: bool = False) -> List[int]:
        """Rows of op_arguments."""
        which = None if span is None else self._list_of[span]
        if which is None:
            return []
        first = self._first[which]
        rows = range(first, first + self._count[which])
        return [row for row in rows
                if self._rows["role"][row] == role and (with_elements or self._rows["element"][row] is None)]

    def concrete_inputs(self, span: Optional[int]) -> List[Any]:
        return [_value(self._rows["value"][row]) for row in self._of(span, "input")]

    def keyword_inputs(self, span: Optional[int]) -> Dict[str, Any]:
        return {self._rows["name"][row]: _keyword_value(self._rows["value"][row]) for row in self._of(span, "keyword")}

    def input_dtypes(self, span: Optional[int]) -> List[str]:
        return [self._rows["dtype"][row] or _TYPE_OF_KIND.get(self._rows["kind"][row], "") for row in self._of(span, "input")]

    def input_shapes(self, span: Optional[int]) -> List[Any]:
        return self._numbers(span, "dims")

    def input_strides(self, span: Optional[int]) -> List[Any]:
        return self._numbers(span, "strides")

    def _numbers(self, span: Optional[int], of: str) -> List[Any]:
        """Of each input; a list of tensors has a list for each of them."""
        found: List[Any] = []
        for row in self._of(span, "input", with_elements=True):
            if self._rows["element"][row] is not None:
                found[-1].append(self._list(row, of))
            else:
                found.append([] if self._rows["kind"][row] == "tensor_list" else self._list(row, of))
        return found

    def _list(self, row: int, of: str) -> List[int]:
        first, count = self._rows[of + "_first"][row], self._rows[of + "_count"][row]
        return [] if first is None or not count else [self._sizes[i] for i in range(first, first + count)]
