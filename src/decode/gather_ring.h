// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes one finished file of what a killed process left of a ring: the file that it had begun, and
// its live buffers. Nothing is decoded, so this takes little more memory than the buffers.

#include <cstdint>
#include <string>

#include "file/block_file.h"
#include "sonde/result.h"

namespace sonde {

// Writes `path`, which must not be the file itself, whole or not at all. It has the last `last_ns`
// before the last record. False, and no file, if there is no record.
Result<bool> gather_ring(const BlockFile& file, std::int64_t last_ns, const std::string& path);

}  // namespace sonde
