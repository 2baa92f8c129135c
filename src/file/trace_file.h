// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The columns of a finished trace in a block file. save_trace() of sonde/trace.h is the public door
// to writing it; what opens a file of either kind is decode/open_sonde.h.

#include <string>

#include "file/block_file.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/builder.h"

namespace sonde {

// Reads the Columns blocks of a file into `builder`, which must be empty; the rest is left alone.
Result<Trace> read_columns(const BlockFile& file, TraceBuilder builder);

// Appends a trace as Columns blocks.
Result<void> write_columns(BlockWriter& writer, const Trace& trace);

// A row of the ledger for each piece of damage that the container knows of, and one if the file has
// no proper end, unless it is `still_written`.
void add_file_damage(TraceBuilder& builder, const BlockFile& file, bool still_written = false);

}  // namespace sonde
