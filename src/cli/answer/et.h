// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What `sonde et` prints about an execution trace, gathered once for text and JSON.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/print/output.h"
#include "sonde/analyse/execution_trace.h"

namespace sonde::cli {

// A claim, and what contradicts it.
struct EtCheck {
  std::string claim;
  std::vector<std::string> wrong;
};

struct EtReport {
  std::string file;
  const ExecutionTrace& et;
  bool is_made = false;  // from a trace
  ExecutionTraceSummary summary;
  std::optional<ExecutionTraceJoin> join;  // if there is a trace to join it with
  std::vector<EtCheck> checks;
};

void write_et_text(const EtReport& report, std::size_t row_limit, Output& out);
void write_et_json(const EtReport& report, std::size_t row_limit, Output& out);

}  // namespace sonde::cli
