// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// From what a process recorded, words in the order they were written, to the columns of a Trace.
// If the process was killed, its live buffers (wire/live_file.h) are read as well.

#include <memory>
#include <optional>

#include "file/block_file.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/part.h"

namespace sonde {

struct RecordingFilter {
  int window = -1;             // only this one; -1: all
  bool still_written = false;  // read by its own writer: that it has no end yet is no loss
  // Windows and ledger, without an event: in memory that does not grow with the file.
  bool outline = false;
};

// Any bytes may be in the file: what makes no sense is left out and counted in the ledger.
Result<Trace> read_recording(const BlockFile& file, const RecordingFilter& filter = {});
// The same, decoded when its events are asked for, if the file is whole and knows its own numbers;
// else at once. `bytes` is what `file` reads from, kept until then; null if the file keeps it.
Result<Trace> read_recording_lazily(const BlockFile& file, std::shared_ptr<const void> bytes);
// Only what overlaps a part of it, without reading the rest. Nothing if the file does not know
// where its events lie, or if the part makes no sense: then part_of() of all of it says what there
// is.
Result<std::optional<Trace>> read_recording_part(const BlockFile& file, const TracePart& part);
// The same for a file that may still grow: what leaves the live buffers meanwhile goes to the file,
// so the buffers are read first, and `file` is replaced by what it is after that.
Result<Trace> read_growing_recording(BlockFile& file);

}  // namespace sonde
