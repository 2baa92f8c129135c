// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The columns of a finished trace in a block file. save_trace() in sonde/trace.h is the public
// function to write it; decode/open_sonde.h opens files of either kind.

#include <string>

#include "file/block_file.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/builder.h"

namespace sonde {

// Reads the Columns blocks of a file into `builder`, which must be empty. Ignores other blocks.
Result<Trace> read_columns(const BlockFile& file, TraceBuilder builder);

// Appends a trace as Columns blocks.
Result<void> write_columns(BlockWriter& writer, const Trace& trace);

struct KnownOfFile {
  bool still_written = false;  // then a missing end is not a loss
  bool has_buffers = false;    // then the last, incomplete block is in the buffers
};
// Adds a ledger row for each damaged place that the container found, and one if the file has no
// end.
void add_file_damage(TraceBuilder& builder, const BlockFile& file, const KnownOfFile& known = {});

}  // namespace sonde
