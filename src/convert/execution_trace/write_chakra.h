// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes an execution trace as Chakra's protobuf, for simulators and replay tools:
//
//   length │ GlobalMetadata │ length │ Node │ length │ Node │ …      lengths as varints, ids ascend
//
// A node depends on its caller (ctrl_deps), on the node before it in the same caller, and on the
// nodes that made the tensors it reads (data_deps). With a trace of the same run, nodes get times,
// and device work becomes nodes after the operator that launched it.

#include <string>

#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/execution_trace_nodes.h"

namespace sonde {

// `times` may be null. Unsupported if Sonde was built without protozero.
Result<void> write_chakra(const ExecutionTrace& et, const std::string& path, const Trace* times);

}  // namespace sonde
