// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A new live file (wire/live_file.h). What lies at its name may be mapped by a program, be a link,
// or belong to another user: it is never opened for writing. It makes room only if it is known to
// be left over from a process of this user and system that has ended; else another name is taken.

#include <cstdint>
#include <string>

#include "base/kept_file.h"
#include "sonde/result.h"
#include "wire/live_file.h"

namespace sonde {

// Empty, locked, and for its user alone: `<output>.live`, or `<output>.<random digits>.live`.
struct NewLiveFile {
  KeptFile file;
  std::string path;  // from the root
};
Result<NewLiveFile> create_live_file(const std::string& output);

// What a live file of this process begins with.
LiveFileHead live_file_head(std::uint64_t stream, std::uint32_t chunk_count);

}  // namespace sonde
