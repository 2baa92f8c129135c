// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes file names that differ between processes.

#include <string>

#include "sonde/result.h"

namespace sonde {

std::string host_name();
std::string program_name();

// Fills in {pid}, {rank}, {host} and {program}; an unknown word in braces is an error that lists
// them. Where a process has no rank, for example the launcher of ranked ones, {rank} becomes
// `none`. If one of several processes would use the same name as the others, `.rank` and its number
// are inserted before the suffix.
Result<std::string> fill_output_name(const std::string& pattern);

}  // namespace sonde
