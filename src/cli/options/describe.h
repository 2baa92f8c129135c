// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/help/description.h"

namespace sonde::cli {

// A command and all below it, as plain data. `name` is its whole name: "sonde torch build".
DescribedCommand described(const CLI::App& command, const std::string& name);

}  // namespace sonde::cli
