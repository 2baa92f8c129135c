// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads what `nsys export --type=sqlite` writes as a trace. docs/databases.md lists its tables.

#include "convert/database/database.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/builder.h"

namespace sonde {

// Whether the tables are those of Nsight Systems.
bool is_nsys(const SqliteDatabase& database);

// `builder` may have rows in its ledger.
Result<Trace> read_nsys(SqliteDatabase& database, TraceBuilder builder);

}  // namespace sonde
