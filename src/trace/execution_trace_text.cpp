// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/execution_trace_text.h"

#include <time.h>
#include <unistd.h>

#include <chrono>

#include "base/format.h"
#include "base/json.h"

namespace sonde {
namespace {

void append_values(std::string& out, std::string_view key, const ExecutionTraceValues& of) {
  append_formatted(out,
                   "        \"{}\": {{\"values\": {}, \"shapes\": {}, \"types\": {}, \"strides\": "
                   "{}}},\n",
                   key, of.values, of.shapes, of.types, of.strides);
}

template <typename Number>
void append_number(std::string& out, std::string_view name, std::string_view type, Number value) {
  append_formatted(out, R"({{"name": "{}", "type": "{}", "value": {}}},)", name, type, value);
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  append_formatted(out, R"({{"name": "{}", "type": "string", "value": )", name);
  append_json_string(out, value);
  out += '}';
}

void append_attributes(std::string& out, const ExecutionTraceNode& node) {
  append_number(out, "rf_id", "uint64", node.record_function_id);
  append_number(out, "fw_parent", "uint64", node.forward_parent);
  append_number(out, "seq_id", "int64", node.sequence_number);
  append_number(out, "scope", "uint64", node.scope);
  append_number(out, "tid", "uint64", node.thread);
  append_number(out, "fw_tid", "uint64", node.forward_thread);
  append_text(out, "op_schema", node.schema);
  out += ',';
  append_text(out, "kernel_backend", node.kernel_backend);
  out += ',';
  append_text(out, "kernel_file", node.kernel_file);
  out += ',';
  append_text(out, "tensor_range", node.tensor_range);
  if (node.more_attributes.empty()) return;
  out += ", ";
  out += node.more_attributes;
}

}  // namespace

std::string execution_trace_head(const ExecutionTrace& trace) {
  return format_text(
      "{{\n  \"schema\": {}, \"pid\": {}, \"time\": {}, \"start_ts\": {},\n  \"nodes\": [",
      json_string(trace.schema), trace.pid, json_string(trace.time), trace.start_ms);
}

std::string execution_trace_tail(std::int64_t finish_ms) {
  return format_text("\n  ],\n  \"finish_ts\": {}\n}}", finish_ms);
}

void append_execution_trace_node(std::string& out, const ExecutionTraceNode& node) {
  append_formatted(out, "\n      {{\n        \"id\": {}, \"name\": ", node.id);
  append_json_string(out, node.name);
  append_formatted(out, ", \"ctrl_deps\": {},\n", node.parent);
  append_values(out, "inputs", node.inputs);
  append_values(out, "outputs", node.outputs);
  out += "        \"attrs\": [";
  append_attributes(out, node);
  out += "]\n      }";
}

ExecutionTraceNode execution_trace_root() {
  ExecutionTraceNode root;
  root.id = kRootNodeId;
  root.parent = kRootNodeId;
  root.name = kProcessNodeName;
  root.scope = kUserScope;
  return root;
}

std::string attribute_json(std::string_view name, std::string_view type, std::string_view json) {
  return format_text(R"({{"name": {}, "type": "{}", "value": {}}})", json_string(name), type, json);
}

ExecutionTrace begin_execution_trace() {
  ExecutionTrace trace;
  trace.schema = kExecutionTraceSchema;
  trace.pid = ::getpid();
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  ::localtime_r(&now, &local);
  char text[32];
  trace.time.assign(text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local));
  trace.start_ms = steady_ms();
  return trace;
}

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace sonde
