// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Traces in block files. open_sonde() and save_trace() of sonde/trace.h are the doors to this.

#include <string>

#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace_builder.h"
#include "trace/block_file.h"

namespace sonde {

// Reads whatever trace a block file holds: columns or a recording. Damage becomes rows of the
// ledger.
Result<Trace> read_trace(const BlockFile& file);

// Reads the Columns blocks of a file into `builder`, which must be empty; the rest is left alone.
Result<Trace> read_columns(const BlockFile& file, TraceBuilder builder);

// Appends a trace as Columns blocks.
Result<void> write_columns(BlockWriter& writer, const Trace& trace);

// A row of the ledger for each piece of damage that the container knows of, and one if the file has
// no proper end, unless it is `still_written`.
void add_file_damage(TraceBuilder& builder, const BlockFile& file, bool still_written = false);

}  // namespace sonde
