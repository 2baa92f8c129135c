// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A small file may have been made to fill the memory: what compressors fold best is a trace of
// nothing. These limits are far above what traces take; OpenOptions::limit_size lifts them.

#include <cstdint>
#include <string>

#include "file/block_file.h"
#include "sonde/open.h"
#include "sonde/result.h"

namespace sonde {

// How far a gzip file may expand; the largest number if there is no limit.
std::uint64_t most_inflated(std::uint64_t file_bytes, const OpenOptions& options);

// Whether a `.sonde` file may be read, by what its blocks say of themselves.
Result<void> check_size(const BlockFile& file, const OpenOptions& options);

// For the end of a message: how to lift the limit.
std::string lift_advice();

}  // namespace sonde
