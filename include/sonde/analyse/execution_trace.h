// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Checks and summaries of execution traces.
//
//   const ExecutionTraceSummary summary = execution_trace_summary(et);
//   if (!summary.is_sound()) …
//   if (!execution_trace_join(et, trace).is_complete()) …

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/execution_trace_nodes.h"

namespace sonde {

// Makes an execution trace from a trace: its operators, annotations, steps and scopes with their
// nesting, and the recorded inputs. Sizes and types need `record_shapes`; tensor numbers also need
// `profile_memory`. Outputs and schemas stay empty, because a trace does not have them. Fails if
// there are no operators, or operators of several processes.
Result<ExecutionTrace> execution_trace_of(const Trace& trace);

struct ExecutionTraceSummary {
  struct Name {
    std::string name;
    std::uint64_t count = 0;
    std::uint64_t inputs = 0;
    std::uint64_t outputs = 0;
  };

  std::uint64_t operators = 0;
  std::uint64_t annotations = 0;
  std::uint64_t threads = 0;
  std::uint64_t process_groups = 0;  // nodes that describe process groups
  std::uint64_t deepest = 0;         // the deepest nesting of operators and annotations
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  std::uint64_t tensors = 0;
  std::uint64_t tensors_from_outside = 0;  // read by an operator before any operator made them
  std::uint64_t storages = 0;
  std::vector<Name> names;  // of operators and annotations, most frequent first

  // Errors. Each list has the numbers concerned, in the order of the file.
  std::vector<std::uint64_t> repeated_ids;
  std::vector<std::uint64_t> without_parent;       // nodes whose parent does not exist
  std::vector<std::uint64_t> before_their_parent;  // nodes that begin before their caller
  std::vector<std::uint64_t> undefined_tensors;    // used, but not named by any earlier node
  bool has_root = false;

  bool is_sound() const {
    return has_root && repeated_ids.empty() && without_parent.empty() &&
           before_their_parent.empty() && undefined_tensors.empty();
  }
};

ExecutionTraceSummary execution_trace_summary(const ExecutionTrace& et);

// Nodes and spans of one run, joined by their record-function ids.
struct ExecutionTraceJoin {
  std::uint64_t joined = 0;
  std::vector<std::string> other_names;  // "12: aten::mm, aten::add": same id, another name
  std::vector<std::string> only_nodes;   // "12: aten::mm"
  std::vector<std::string> only_spans;

  bool is_complete() const {
    return joined > 0 && other_names.empty() && only_nodes.empty() && only_spans.empty();
  }
};

ExecutionTraceJoin execution_trace_join(const ExecutionTrace& et, const Trace& trace);

}  // namespace sonde
