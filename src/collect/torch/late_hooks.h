// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace sonde::torch {

// Directs torch's libraries to the functions of memory_hooks.h where the linker has found c10's: in
// a process that had loaded torch before us, as a Python program that imports `sonde`. To be called
// before each use, for libraries that came since. Does nothing where ours stand first.
void hook_loaded_libraries();

}  // namespace sonde::torch
