// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Opens a `.sonde` file as a trace, whether it holds the columns of a finished trace or the events
// of a recording. open_sonde() in sonde/trace.h is the public function.

#include <memory>

#include "decode/thread_decoder.h"
#include "file/block_file.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/part.h"

namespace sonde {

// Reads a file that will not change. Damage becomes rows of the ledger.
Result<Trace> read_trace(const BlockFile& file);

// The same, decoded when it is asked for where that can be. `bytes` is what `file` reads from, kept
// until then; null if the file keeps it.
Result<Trace> read_trace_lazily(BlockFile& file, std::shared_ptr<const void> bytes = nullptr,
                                ReadFor purpose = ReadFor::Everything);

// Only what overlaps a part of the recording. Where possible, the rest is not read.
Result<Trace> read_trace_part(BlockFile& file, const TracePart& part);

// The same for a file that another process may still be writing. If the file has no proper end,
// `file` is read again so that it matches the live buffers.
Result<Trace> read_growing_trace(BlockFile& file);

}  // namespace sonde
