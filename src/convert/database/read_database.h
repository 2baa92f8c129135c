// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads databases of other profilers as traces: nvprof's, and Nsight Systems' exports.

#include <string>
#include <string_view>

#include "convert/json/json_bytes.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// Whether the bytes begin like an SQLite database.
bool is_sqlite(std::string_view bytes);

// `bytes` hold such a database; `name` is its path, for messages. Fails as Unsupported if Sonde was
// built without SQLite.
Result<Trace> read_profiler_database(PaddedBytes bytes, const std::string& name);

// Reads only databases of nvprof that have the tables PyTorch's load_nvprof needs.
Result<Trace> read_nvprof_database(PaddedBytes bytes, const std::string& name);

}  // namespace sonde
