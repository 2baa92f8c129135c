// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes a new live file (wire/live_file.h). A file that already has its name may be mapped by a
// program, be a link, or belong to another user, so it is never opened for writing. It is removed
// only if it is known to be left over from an ended process of this user and system; otherwise
// another name is used.

#include <cstdint>
#include <string>

#include "base/kept_file.h"
#include "sonde/result.h"
#include "wire/live_file.h"

namespace sonde {

// Empty, locked, and accessible to its user alone: `<output>.live`, or `<output>.<random
// digits>.live`.
struct NewLiveFile {
  KeptFile file;
  std::string path;  // an absolute path
};
Result<NewLiveFile> create_live_file(const std::string& output);

// Removes the live file of that name if its process, of this user and system, has ended.
void remove_if_left_over(const std::string& path);

// The head of a live file of this process.
LiveFileHead live_file_head(std::uint64_t stream, std::uint32_t chunk_count);

}  // namespace sonde
