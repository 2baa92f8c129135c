// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The files that the processes of a `sonde run` wrote, and whether these processes still run.

#include <cstdint>
#include <string>

#include "agent/report.h"
#include "file/block_file.h"
#include "sonde/result.h"

namespace sonde::cli {

// A path for a reader: relative if it is below the current folder.
std::string shown(const std::string& path);

// The file that the process wrote, if it still exists and no other file has its name.
Result<BlockFile> own_file(const ReportEntry& entry);
// Whether that failed because another file has the name.
bool is_replaced(const Error& error);
// True even if the file cannot be read.
bool is_there(const ReportEntry& entry);
// Removes only the file that was examined, which is `file`, and its live buffers.
void remove_recording(const BlockFile& file);

// A process that was just killed takes a moment to end. `run_pid` is the process of `sonde run`.
bool runs(std::int64_t pid, std::int64_t run_pid);

}  // namespace sonde::cli
