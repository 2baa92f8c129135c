// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The existing adapters: the one shipped with Sonde, and those that `sonde torch build` stored in
// the user's cache.

#include <string>
#include <vector>

#include "cli/setup/torch_install.h"
#include "sonde/result.h"

namespace sonde::cli {

// Where `sonde torch build` stores adapters.
Result<std::string> adapter_cache();

// All that `sonde run` may use, best first: those in SONDE_RUN_ADAPTERS, the installed one, and
// cached ones that were made from the same sources as this Sonde.
std::vector<std::string> usable_adapters(const std::string& library_folder);

// Whether a process with that torch may use it. The agent later applies the same rule
// (agent/adapter.h).
bool adapter_fits(const std::string& adapter, const TorchInstall& torch);

// For example "torch 2.11.0, C++11 ABI 1" or "libtorch_cpu.so.1.13".
std::string adapter_is_for(const std::string& adapter);

}  // namespace sonde::cli
