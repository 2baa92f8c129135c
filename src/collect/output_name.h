// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// File names that differ between processes.

#include <string>

#include "sonde/result.h"

namespace sonde {

std::string host_name();
std::string program_name();

// Fills {pid}, {rank}, {host} and {program}; an unknown word in braces is an error that lists them.
// A process that was given no rank, as the launcher of those that were, has `none` for {rank}. In
// one of several processes a name that would be the same for all of them gets `.rank` and the
// number before its suffix.
Result<std::string> fill_output_name(const std::string& pattern);

}  // namespace sonde
