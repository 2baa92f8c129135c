// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>

#include "base/output_file.h"
#include "convert/execution_trace/write_chakra.h"
#include "convert/ordered_output.h"
#include "sonde/trace/execution_trace_file.h"
#include "trace/execution_trace_text.h"

namespace sonde {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

Result<void> write_json(const ExecutionTrace& et, const std::string& path, bool is_gzip) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  OrderedOutput output(file, is_gzip);
  {
    OrderedOutput::Part part(output, 0);
    ExecutionTrace head = et;
    head.schema = kExecutionTraceSchema;
    std::string text = execution_trace_head(head);
    bool is_first = true;
    for (const ExecutionTraceNode& node : et.nodes) {
      if (!is_first) text += kBetweenNodes;
      is_first = false;
      append_execution_trace_node(text, node);
      if (text.size() < kPieceBytes) continue;
      if (!part.write(text)) break;
      text.clear();
    }
    part.write(text + execution_trace_tail(et.finish_ms));
  }
  SONDE_TRY_VOID(output.finish());
  return file.commit();
}

}  // namespace

Result<void> export_execution_trace(const ExecutionTrace& et, const std::string& path,
                                    const Trace* times) {
  if (path.ends_with(".json")) return write_json(et, path, false);
  if (path.ends_with(".json.gz")) return write_json(et, path, true);
  if (path.ends_with(".et") || path.ends_with(".chakra")) return write_chakra(et, path, times);
  return Failure(
      ErrorCode::Invalid,
      path + ": the name of an execution trace must end in .json, .json.gz, .et or .chakra");
}

}  // namespace sonde
