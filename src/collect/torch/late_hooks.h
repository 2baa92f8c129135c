// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::torch {

// Redirects torch's libraries to the functions of memory_hooks.h in a process that loaded torch
// before Sonde, such as a Python program that imports `sonde`. There the linker has bound them to
// c10's. Call it before each use, because libraries may have been loaded since. Does nothing if
// ours come first.
void hook_loaded_libraries();

}  // namespace sonde::torch
