// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Time by module of a neural network, as a tree.
//
//   for (const ModuleTime& module : module_times(trace))
//     std::cout << std::string(2 * module.depth, ' ') << module.name << " " << module.host_ns;
//
// The calls of modules come from spans that Python's profiler names "nn.Module: …", or else from
// the modules that operators say they belong to. Times contain those of the modules inside. What
// backward passes do runs outside of the modules' calls and is not counted.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/analyse/memory.h"
#include "sonde/trace.h"

namespace sonde {

struct ModuleTime {
  std::string name;
  std::uint32_t parent = 0;  // comes before it; a module at the top is its own parent
  std::uint32_t depth = 0;
  std::uint64_t calls = 0;  // of the module, or of operators if the trace does not say
  Nanos host_ns = 0;
  Nanos device_ns = 0;  // of the work that was launched inside
  std::uint64_t launches = 0;
  // What was allocated inside, and how much of it was still held when the call returned: what the
  // backward pass needs, and results. Of accelerators; of the host if there is no other memory.
  std::int64_t allocated_bytes = 0;
  std::int64_t kept_bytes = 0;
  SpanId longest;  // of its spans
};

// Without `memory`, bytes are 0.
std::vector<ModuleTime> module_times(const Trace& trace, const MemoryProfile* memory = nullptr);

}  // namespace sonde
