// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "sonde/trace.h"

namespace sonde::detail {

// The names of a module and of those around it: "model.encoder.layer0"; empty: none.
inline std::string module_path(const Trace& trace, ModuleId module) {
  std::string path;
  for (ModuleId at = module; at.valid(); at = trace.modules().parent[at]) {
    if (!path.empty()) path.insert(0, ".");
    path.insert(0, trace.string(trace.modules().name[at]));
  }
  return path;
}

}  // namespace sonde::detail
