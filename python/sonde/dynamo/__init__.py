# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch._dynamo`'s profiler."""
