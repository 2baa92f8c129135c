// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/help/description.h"

namespace sonde::cli {

// A command and all below it, as plain data. `name` is its whole name: "sonde torch build".
DescribedCommand described(const CLI::App& command, const std::string& name);

// Writes what --help prints, in the words of the manual pages.
std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace sonde::cli
