// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An execution trace as the JSON that PyTorch writes, piece by piece:
//
//   head, node, kBetweenNodes, node, …, kBetweenNodes, root, tail

#include <cstdint>
#include <string>
#include <string_view>

#include "sonde/trace/execution_trace_nodes.h"

namespace sonde {

inline constexpr std::string_view kExecutionTraceSchema = "1.1.1-chakra.0.0.4";
inline constexpr std::string_view kBetweenNodes = ",";

// Up to the first node, from what `trace` says of itself.
std::string execution_trace_head(const ExecutionTrace& trace);
std::string execution_trace_tail(std::int64_t finish_ms);

void append_execution_trace_node(std::string& out, const ExecutionTraceNode& node);

// The node that all others hang on.
ExecutionTraceNode execution_trace_root();

// {"name": "pg_name", "type": "string", "value": "0"}
std::string attribute_json(std::string_view name, std::string_view type, std::string_view json);

// What a trace that begins now says of itself.
ExecutionTrace begin_execution_trace();
std::int64_t steady_ms();

}  // namespace sonde
