// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The answers of the commands about a trace that is already open; the commands open it first. The
// Python package uses them too (python/module/). The `file` of the options is a name for messages.

#include "cli/commands.h"

namespace sonde::cli {

Result<void> answer_report(const Trace& trace, const ReportCommand& options, Output& out);
Result<void> answer_memory(const Trace& trace, const MemoryCommand& options, Output& out);
Result<void> answer_graphs(const Trace& trace, const GraphsCommand& options, Output& out);
Result<void> answer_critical_path(const Trace& trace, const CriticalPathCommand& options,
                                  Output& out);
Result<void> answer_whatif(const Trace& trace, const WhatIfCommand& options, Output& out);
Result<void> answer_export(const Trace& trace, const ExportCommand& options);

}  // namespace sonde::cli
