// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sonde/analyse/execution_trace.h"
#include "trace/execution_trace_tensors.h"

namespace sonde {
namespace {

bool is_thread(const ExecutionTraceNode& node) {
  return node.name == kThreadNodeName || node.name == "[pytorch|profiler|execution_graph|thread]";
}
bool is_operator(const ExecutionTraceNode& node) {
  return node.id != kRootNodeId && !is_thread(node) && node.scope != kUserScope;
}

// Operators, tensors and storages get numbers from one counter, and an operator gets its own before
// its tensors do. So the first operator that names a tensor has a smaller number. An address, and
// with it its number, may belong to a storage first and to a tensor later. Schemas before 1.0.2
// number the other way round.
class Tensors {
 public:
  explicit Tensors(const ExecutionTrace& et)
      : is_numbered_after_(et.schema != "1.0.0" && et.schema != "1.0.1") {
    for (const ExecutionTraceNode& node : et.nodes) {
      for_each_tensor(node.inputs.values, [&](TensorValue tensor) { see(tensor, node.id, true); });
      for_each_tensor(node.outputs.values,
                      [&](TensorValue tensor) { see(tensor, node.id, false); });
    }
  }

  void tell(ExecutionTraceSummary& summary) const {
    summary.storages = storages_.size();
    summary.tensors = tensors_.size();
    for (const std::uint64_t tensor : tensors_) {
      const First& first = first_.at(tensor);
      if (first.node == 0 && is_numbered_after_) summary.undefined_tensors.push_back(tensor);
      if (first.is_input) ++summary.tensors_from_outside;
    }
    std::sort(summary.undefined_tensors.begin(), summary.undefined_tensors.end());
  }

 private:
  struct First {
    std::uint64_t node = 0;  // the last one that began before the number was assigned
    bool is_input = true;
  };

  // 0 means unknown.
  void see(const TensorValue& tensor, std::uint64_t node, bool is_input) {
    if (tensor.storage != 0) {
      storages_.insert(tensor.storage);
      name(tensor.storage, node, is_input);
    }
    if (tensor.id == 0) return;
    tensors_.insert(tensor.id);
    name(tensor.id, node, is_input);
  }
  void name(std::uint64_t number, std::uint64_t node, bool is_input) {
    First& first = first_[number];
    if (node >= number || node < first.node) return;
    first.is_input = is_input || (node == first.node && first.is_input);
    first.node = node;
  }

  const bool is_numbered_after_;
  std::unordered_map<std::uint64_t, First> first_;
  std::unordered_set<std::uint64_t> tensors_;
  std::unordered_set<std::uint64_t> storages_;
};

class Summary {
 public:
  explicit Summary(const ExecutionTrace& et) : et_(et) {}

  ExecutionTraceSummary make() {
    for (const ExecutionTraceNode& node : et_.nodes) {
      if (!parents_.emplace(node.id, node.parent).second) out_.repeated_ids.push_back(node.id);
    }
    for (const ExecutionTraceNode& node : et_.nodes) look_at(node);
    Tensors(et_).tell(out_);
    for (auto& [name, row] : names_) out_.names.push_back(std::move(row));
    std::stable_sort(out_.names.begin(), out_.names.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    return std::move(out_);
  }

 private:
  void look_at(const ExecutionTraceNode& node) {
    if (node.id == kRootNodeId) {
      out_.has_root = true;
      return;
    }
    if (parents_.count(node.parent) == 0) out_.without_parent.push_back(node.id);
    if (node.parent >= node.id) out_.before_their_parent.push_back(node.id);
    if (is_thread(node)) {
      ++out_.threads;
      return;
    }
    ++(is_operator(node) ? out_.operators : out_.annotations);
    if (node.name == kProcessGroupNodeName) ++out_.process_groups;
    out_.deepest = std::max(out_.deepest, depth(node.id));
    ExecutionTraceSummary::Name& row = names_[node.name];
    row.name = node.name;
    ++row.count;
    const std::uint64_t inputs = list_size(node.inputs.values);
    const std::uint64_t outputs = list_size(node.outputs.values);
    row.inputs += inputs;
    row.outputs += outputs;
    out_.inputs += inputs;
    out_.outputs += outputs;
  }

  // The depth below its thread. The walk up ends where ids do not fall. Depths are stored, because
  // every node below needs them again.
  std::uint64_t depth(std::uint64_t id) {
    std::vector<std::uint64_t> above;  // nodes of unknown depth, innermost first
    auto known = depths_.find(id);
    for (auto at = parents_.find(id);
         known == depths_.end() && at != parents_.end() && at->second < at->first;
         at = parents_.find(at->second)) {
      above.push_back(at->first);
      known = depths_.find(at->second);
    }
    std::uint64_t depth = known == depths_.end() ? 0 : known->second;
    for (std::size_t i = above.size(); i-- > 0;) {
      if (parents_[above[i]] != kRootNodeId) ++depth;
      depths_[above[i]] = depth;
    }
    return depth;
  }

  const ExecutionTrace& et_;
  ExecutionTraceSummary out_;
  std::unordered_map<std::uint64_t, std::uint64_t> parents_;
  std::unordered_map<std::uint64_t, std::uint64_t> depths_;
  std::map<std::string_view, ExecutionTraceSummary::Name> names_;
};

std::string id_and_name(std::int64_t id, std::string_view name) {
  return std::to_string(id) + ": " + std::string(name);
}

}  // namespace

ExecutionTraceSummary execution_trace_summary(const ExecutionTrace& et) {
  return Summary(et).make();
}

ExecutionTraceJoin execution_trace_join(const ExecutionTrace& et, const Trace& trace) {
  ExecutionTraceJoin join;
  std::map<std::int64_t, std::string_view> nodes;
  for (const ExecutionTraceNode& node : et.nodes) {
    if (node.record_function_id != 0)
      nodes.emplace(static_cast<std::int64_t>(node.record_function_id), node.name);
  }
  for (const SpanId span : trace.all_spans()) {
    const std::int64_t id = trace.spans().record_function_id[span];
    if (id <= 0) continue;
    const auto found = nodes.find(id);
    if (found == nodes.end()) {
      join.only_spans.push_back(id_and_name(id, trace.name(span)));
      continue;
    }
    if (found->second != trace.name(span)) {
      join.other_names.push_back(id_and_name(id, found->second) + ", " +
                                 std::string(trace.name(span)));
    }
    ++join.joined;
    nodes.erase(found);
  }
  for (const auto& [id, name] : nodes) join.only_nodes.push_back(id_and_name(id, name));
  return join;
}

}  // namespace sonde
