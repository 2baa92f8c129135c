// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads PyTorch's execution traces, of every schema since 1.0.1. PyTorch does not escape quotes in
// names; such a name loses only its own node.

#include <string>
#include <string_view>

#include "convert/json/json_bytes.h"
#include "sonde/result.h"
#include "sonde/trace/execution_trace_nodes.h"

namespace sonde {

// Whether JSON text is an execution trace rather than a trace of events.
bool looks_like_execution_trace(std::string_view text);

// `path` appears in messages.
Result<ExecutionTrace> read_execution_trace(PaddedBytes text, const std::string& path);

}  // namespace sonde
