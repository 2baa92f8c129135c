// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Opening a trace of any format that Sonde reads. The format is told from the content, not from the
// name: `.sonde` files, Kineto's or Chrome's JSON, plain or compressed with gzip, and SQLite
// databases of nvprof and of Nsight Systems (`nsys export --type=sqlite`; docs/databases.md), and
// snapshots of PyTorch's CUDA allocator (pickles, of which no code is run).
//
//   Result<Trace> trace = open_trace("rank0.pt.trace.json.gz");
//
// What a damaged file still holds is opened, and the ledger says what is missing.

#include <string>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

struct OpenOptions {
  unsigned threads = 0;  // that may work on it; 0: as many as there are cores
};

Result<Trace> open_trace(const std::string& path, const OpenOptions& options = {});

}  // namespace sonde
