// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An execution trace: what a tensor program computed, rather than when. A node is an operator with
// the numbers of the tensors it read and made, and the node that called it. Its record-function id
// is that of its span in a trace of the same run.
//
//   SONDE_TRY(const ExecutionTrace et, open_execution_trace("step.et.json.gz"));
//   for (const ExecutionTraceNode& node : et.nodes) use(node.name, node.inputs.values);
//
// Nodes are in the order in which operators ended: children come before their parent, and the root
// comes last. docs/execution-traces.md describes the file.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde {

// Four JSON lists, each with one element per argument or result.
struct ExecutionTraceValues {
  std::string_view values = "[]";  // a tensor is [id, storage id, offset, elements, bytes, device]
  std::string_view shapes = "[]";
  std::string_view types = "[]";  // "Tensor(float)", "Int", "GenericList[Int,Int]", …
  std::string_view strides = "[]";
};

struct ExecutionTraceNode {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  // the root is its own parent
  std::string_view name;
  ExecutionTraceValues inputs;
  ExecutionTraceValues outputs;
  std::uint64_t record_function_id = 0;  // 0: none
  std::uint64_t forward_parent = 0;      // for a gradient: the node its forward thread was in
  std::int64_t sequence_number = -1;
  std::uint64_t scope = 0;   // PyTorch's number of the RecordScope
  std::uint64_t thread = 0;  // the tensor library's number of the thread
  std::uint64_t forward_thread = 0;
  std::string_view schema;  // "aten::t(Tensor(a) self) -> Tensor(a)"
  std::string_view kernel_backend;
  std::string_view kernel_file;
  std::string_view tensor_range;
  std::string_view more_attributes;  // JSON objects separated by commas, such as a collective's
};

// Names of nodes that are not operators.
inline constexpr std::string_view kProcessNodeName = "[pytorch|profiler|execution_trace|process]";
inline constexpr std::string_view kThreadNodeName = "[pytorch|profiler|execution_trace|thread]";
inline constexpr std::string_view kProcessGroupNodeName = "## process_group:init ##";
inline constexpr std::uint64_t kRootNodeId = 1;
inline constexpr std::uint64_t kUserScope = 7;

struct ExecutionTrace {
  std::string schema;
  std::int64_t pid = 0;
  std::string time;           // when it began, in local time: "2026-03-01 12:00:00"
  std::int64_t start_ms = 0;  // on a clock that does not jump
  std::int64_t finish_ms = 0;
  std::vector<ExecutionTraceNode> nodes;
  std::vector<std::string> problems;  // what is missing in a damaged file

  // The text that the nodes' views refer to; copies of a trace share it.
  std::shared_ptr<const void> file_text;
  std::shared_ptr<std::deque<std::string>> texts = std::make_shared<std::deque<std::string>>();
  std::string_view keep(std::string text) { return texts->emplace_back(std::move(text)); }
};

}  // namespace sonde
