// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Execution traces as files: PyTorch's JSON, and Chakra's nodes, which simulators read.
//
//   SONDE_TRY(ExecutionTrace et, open_execution_trace("step.et.json.gz"));
//   SONDE_TRY_VOID(export_execution_trace(et, "step.chakra"));
//
// Reads the schemas of PyTorch from 1.13 (1.0.1) on. Truncated and damaged files open too;
// ExecutionTrace::problems then says what is missing.

#include <string>
#include <string_view>

#include "sonde/open.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/execution_trace_nodes.h"

namespace sonde {

// Decides by content, compressed or not. False if the file cannot be read.
bool is_execution_trace(const std::string& path, const OpenOptions& options = {});
Result<ExecutionTrace> open_execution_trace(const std::string& path,
                                            const OpenOptions& options = {});

// The suffix chooses the format: `.json` and `.json.gz` for PyTorch's, `.et` and `.chakra` for
// Chakra's protobuf. `times`, if given, is a trace of the same run, from which Chakra's nodes get
// their times. A file appears complete or not at all.
Result<void> export_execution_trace(const ExecutionTrace& et, const std::string& path,
                                    const Trace* times = nullptr);

}  // namespace sonde
