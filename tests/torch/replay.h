// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Walks through an execution trace like a replay tool: operators in the order in which they began,
// with the tensors that exist at that time.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sonde/trace/execution_trace_nodes.h"
#include "trace/execution_trace_tensors.h"

namespace sonde::testing {

struct Replay {
  std::vector<std::string> operators;
  std::set<std::uint64_t> outside;     // tensors that a replay tool has to provide
  std::vector<std::string> undefined;  // "12 of aten::mm": neither made nor provided before
};

class Replayer {
 public:
  explicit Replayer(const ExecutionTrace& et) {
    for (const ExecutionTraceNode& node : et.nodes) nodes_[node.id] = &node;
  }

  Replay run() {
    for (const auto& [id, node] : nodes_) {
      if (node->scope == 0) replay_.operators.emplace_back(node->name);
      // Results get their numbers when their operator ends.
      const auto made = pending_.lower_bound(id);
      known_.insert(pending_.begin(), made);
      pending_.erase(pending_.begin(), made);
      for_each_tensor(node->inputs.values,
                      [&, reader = node](const TensorValue& tensor) { read(tensor, *reader); });
      for_each_tensor(node->outputs.values, [&](const TensorValue& tensor) {
        pending_.insert({tensor.id, tensor.storage});
      });
    }
    return std::move(replay_);
  }

 private:
  // An operator gets its number before tensors that it is the first to name, so a tensor with a
  // smaller number must be known. A number belongs to an address, which may be a storage's first
  // and a tensor's later.
  void read(const TensorValue& tensor, const ExecutionTraceNode& node) {
    known_.insert(tensor.storage);
    if (tensor.id == 0 || !known_.insert(tensor.id).second) return;
    if (tensor.id < node.id) {
      replay_.undefined.push_back(std::to_string(tensor.id) + " of " + std::string(node.name));
    } else if (!is_made_around(tensor.id, node)) {
      replay_.outside.insert(tensor.id);
    }
  }

  // Kernels pass what they make to operators that they call.
  bool is_made_around(std::uint64_t tensor, const ExecutionTraceNode& node) const {
    bool found = false;
    for (auto at = nodes_.find(node.parent); at != nodes_.end() && at->first != kRootNodeId;
         at = nodes_.find(at->second->parent)) {
      for_each_tensor(at->second->outputs.values,
                      [&](const TensorValue& made) { found = found || made.id == tensor; });
    }
    return found;
  }

  std::map<std::uint64_t, const ExecutionTraceNode*> nodes_;
  std::set<std::uint64_t> known_;
  std::set<std::uint64_t> pending_;
  Replay replay_;
};

inline Replay replayed(const ExecutionTrace& et) {
  return Replayer(et).run();
}

}  // namespace sonde::testing
