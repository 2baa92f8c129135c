// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Turns what a process recorded, words in the order they were written, into the columns of a Trace.
// If the process was killed, its live buffers (wire/live_file.h) are read as well.

#include <cstdint>
#include <memory>
#include <optional>

#include "decode/thread_decoder.h"
#include "file/block_file.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/part.h"

namespace sonde {

struct RecordingFilter {
  ReadFor purpose = ReadFor::Everything;
  int window = -1;             // only this one; -1: all
  bool still_written = false;  // its own writer reads it: a missing end is not a loss
  // Windows and ledger but no events. Memory does not grow with the file.
  bool outline = false;
  // Operators have the numbers after this one.
  std::int64_t last_external_id = 0;
};

// The file may contain any bytes. What is invalid is left out and counted in the ledger.
Result<Trace> read_recording(const BlockFile& file, const RecordingFilter& filter = {});
// The same, decoded when its events are asked for, if the file is whole and knows its own numbers;
// else at once. `bytes` is what `file` reads from, kept until then; null if the file keeps it.
Result<Trace> read_recording_lazily(const BlockFile& file, std::shared_ptr<const void> bytes,
                                    ReadFor purpose = ReadFor::Everything);
// Only what overlaps a part of it, without reading the rest. Nothing if the file does not know
// where its events lie, or if the part makes no sense: then part_of() of all of it says what there
// is.
Result<std::optional<Trace>> read_recording_part(const BlockFile& file, const TracePart& part);
// The same for a file that may still grow. Words move from the live buffers to the file, so the
// buffers are read first, and then `file` is opened again.
Result<Trace> read_growing_recording(BlockFile& file);

}  // namespace sonde
