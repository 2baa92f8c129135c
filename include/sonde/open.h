// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Opens a trace in any format that Sonde reads: `.sonde` files; Kineto's or Chrome's JSON, plain or
// compressed with gzip; SQLite databases of nvprof and of Nsight Systems (`nsys export
// --type=sqlite`; docs/databases.md); and snapshots of PyTorch's CUDA allocator (pickles, whose
// code is never run). The content decides, not the name.
//
//   Result<Trace> trace = open_trace("rank0.pt.trace.json.gz");
//
// A damaged file opens with what it still holds, and the ledger says what is missing.

#include <string>

#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/part.h"

namespace sonde {

struct OpenOptions {
  unsigned threads = 0;  // threads to use; 0: one per core
  // Refuses files that would take far more memory than a trace of their size. They may have been
  // made to exhaust it: deflate can compress a gigabyte to a megabyte.
  bool limit_size = true;
  // Only what the operator table shows (KeyAverages in sonde/analyse/events.h), in less time and
  // memory. A complete recording then lacks the addresses and totals of its allocations, the ids
  // and numbers of operators and steps, and the tensors that operators got. Other files are read
  // whole.
  bool for_operator_table = false;
  // Besides, the trace may lack the inputs of operators: the table is not grouped by their shapes.
  bool without_inputs = false;
  // Only this part of the trace; all of it unless something is set.
  TracePart part = {};
};

Result<Trace> open_trace(const std::string& path, const OpenOptions& options = {});

}  // namespace sonde
