# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from typing import Any

version: str

class Column:
    name: str
    format: str
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Any: ...

def __getattr__(name: str) -> Any: ...
