// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A small file may have been made to fill the memory, because empty content compresses extremely
// well. These limits are far above what real traces take. OpenOptions::limit_size lifts them.

#include <cstdint>
#include <string>

#include "file/block_file.h"
#include "sonde/open.h"
#include "sonde/result.h"

namespace sonde {

// How far a gzip file may expand; the largest number if there is no limit.
std::uint64_t most_inflated(std::uint64_t file_bytes, const OpenOptions& options);

// How much memory the values of a pickle may take; the largest number if there is no limit.
std::uint64_t most_taken_by_pickle(std::uint64_t file_bytes, const OpenOptions& options);

// Whether a `.sonde` file may be read, judged by the sizes in its block headers.
Result<void> check_size(const BlockFile& file, const OpenOptions& options);

// The end of a message: how to lift the limit.
std::string lift_advice();

}  // namespace sonde
