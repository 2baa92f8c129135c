// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// An execution trace: what a tensor program computed rather than when. A node is an operator with
// the tensors it read and made, known by numbers, and the node that called it; its record-function
// id is that of its span in a trace of the same run.
//
//   SONDE_TRY(const ExecutionTrace et, open_execution_trace("step.et.json.gz"));
//   for (const ExecutionTraceNode& node : et.nodes) use(node.name, node.inputs.values);
//
// Nodes stand in the order in which operators ended, so that children come before their parent, and
// the root comes last. docs/execution-traces.md says what stands in a file.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde {

// Four JSON lists with an element each for every argument or result.
struct ExecutionTraceValues {
  std::string_view values = "[]";  // a tensor is [id, storage id, offset, elements, bytes, device]
  std::string_view shapes = "[]";
  std::string_view types = "[]";  // "Tensor(float)", "Int", "GenericList[Int,Int]", …
  std::string_view strides = "[]";
};

struct ExecutionTraceNode {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  // the root is its own
  std::string_view name;
  ExecutionTraceValues inputs;
  ExecutionTraceValues outputs;
  std::uint64_t record_function_id = 0;  // 0: none
  std::uint64_t forward_parent = 0;      // of a gradient: what its forward thread was in
  std::int64_t sequence_number = -1;
  std::uint64_t scope = 0;   // as PyTorch numbers RecordScope
  std::uint64_t thread = 0;  // as the tensor library numbers them
  std::uint64_t forward_thread = 0;
  std::string_view schema;  // "aten::t(Tensor(a) self) -> Tensor(a)"
  std::string_view kernel_backend;
  std::string_view kernel_file;
  std::string_view tensor_range;
  std::string_view more_attributes;  // JSON objects with commas between, such as a collective's
};

// Names that stand for no operator.
inline constexpr std::string_view kProcessNodeName = "[pytorch|profiler|execution_trace|process]";
inline constexpr std::string_view kThreadNodeName = "[pytorch|profiler|execution_trace|thread]";
inline constexpr std::string_view kProcessGroupNodeName = "## process_group:init ##";
inline constexpr std::uint64_t kRootNodeId = 1;
inline constexpr std::uint64_t kUserScope = 7;

struct ExecutionTrace {
  std::string schema;
  std::int64_t pid = 0;
  std::string time;           // when it was begun, local: "2026-03-01 12:00:00"
  std::int64_t start_ms = 0;  // of a clock that does not jump
  std::int64_t finish_ms = 0;
  std::vector<ExecutionTraceNode> nodes;
  std::vector<std::string> problems;  // what of a damaged file is missing

  // What the views of the nodes look at: copies of a trace share it.
  std::shared_ptr<const void> file_text;
  std::shared_ptr<std::deque<std::string>> texts = std::make_shared<std::deque<std::string>>();
  std::string_view keep(std::string text) { return texts->emplace_back(std::move(text)); }
};

}  // namespace sonde
