// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Compiles the adapter for one torch with the installed compiler. Needs neither CMake nor Python.

#include <string>

#include "cli/setup/torch_install.h"
#include "cli/setup/torch_sources.h"
#include "sonde/result.h"

namespace sonde::cli {

// Writes the library `output`, completely or not at all. `library_folder` is the folder of
// libsonde. An error shows the command that failed and the compiler's output.
Result<void> compile_adapter(const AdapterSources& sources, const TorchInstall& torch,
                             const std::string& library_folder, const std::string& output);

}  // namespace sonde::cli
