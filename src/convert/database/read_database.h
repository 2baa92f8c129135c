// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Databases of other profilers, as traces: nvprof's, and what Nsight Systems exports.

#include <string>
#include <string_view>

#include "convert/json/json_bytes.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// Whether the bytes begin as those of every SQLite database do.
bool is_sqlite(std::string_view bytes);

// `bytes` are such a database; `name` is its path and appears in messages. Fails as Unsupported if
// Sonde was built without SQLite.
Result<Trace> read_profiler_database(PaddedBytes bytes, const std::string& name);

// Only nvprof's, with the tables that PyTorch's load_nvprof asks for.
Result<Trace> read_nvprof_database(PaddedBytes bytes, const std::string& name);

}  // namespace sonde
