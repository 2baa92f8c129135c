// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A `.sonde` file as a trace, whatever is in it: the columns of a finished trace, or the events of
// a recording. open_sonde() in sonde/trace.h is its public function.

#include <memory>

#include "file/block_file.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/part.h"

namespace sonde {

// Reads a file that will not change. Damage becomes rows of the ledger.
Result<Trace> read_trace(const BlockFile& file);

// The same, decoded when it is asked for where that can be. `bytes` is what `file` reads from, kept
// until then; null if the file keeps it.
Result<Trace> read_trace_lazily(BlockFile& file, std::shared_ptr<const void> bytes = nullptr);

// Only what overlaps a part of it, read without the rest if that can be.
Result<Trace> read_trace_part(BlockFile& file, const TracePart& part);

// The same for a file that another process may still write. `file` is looked at again where it has
// no proper end, so that it and the live buffers fit together.
Result<Trace> read_growing_trace(BlockFile& file);

}  // namespace sonde
