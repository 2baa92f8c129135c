// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An execution trace as the JSON that PyTorch writes, part by part:
//
//   head, node, kBetweenNodes, node, …, kBetweenNodes, root, tail

#include <cstdint>
#include <string>
#include <string_view>

#include "sonde/trace/execution_trace_nodes.h"

namespace sonde {

inline constexpr std::string_view kExecutionTraceSchema = "1.1.1-chakra.0.0.4";
inline constexpr std::string_view kBetweenNodes = ",";

// The text before the first node, from the fields of `trace`.
std::string execution_trace_head(const ExecutionTrace& trace);
std::string execution_trace_tail(std::int64_t finish_ms);

void append_execution_trace_node(std::string& out, const ExecutionTraceNode& node);

// The node that is the root of all others.
ExecutionTraceNode execution_trace_root();

// {"name": "pg_name", "type": "string", "value": "0"}
std::string attribute_json(std::string_view name, std::string_view type, std::string_view json);

// The fields of a trace that begins now.
ExecutionTrace begin_execution_trace();
std::int64_t steady_ms();

}  // namespace sonde
