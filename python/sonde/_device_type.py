# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import enum
import sys
from typing import Any


class DeviceType(enum.IntEnum):
    """The numbers are PyTorch's."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


def _device_type(number: int) -> Any:
    """torch's own value if torch is loaded, because it is equal to no other."""
    known = getattr(sys.modules.get("torch.autograd"), "DeviceType", DeviceType)
    ours = DeviceType(number) if number in DeviceType._value2member_map_ else number
    return getattr(known, getattr(ours, "name", ""), ours)
