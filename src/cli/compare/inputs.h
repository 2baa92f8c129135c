// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The traces that a command line names: files, and folders of files.

#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde::cli {

// Whether a file's name says that it is a trace.
bool is_trace_name(const std::string& path);

// Folders become the traces in them, by name. An error if one has none.
Result<std::vector<std::string>> trace_files(const std::vector<std::string>& paths);

}  // namespace sonde::cli
