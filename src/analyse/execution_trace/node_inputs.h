// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The arguments of a span as the JSON lists of an execution trace's node.

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sonde/trace.h"
#include "sonde/trace/execution_trace_nodes.h"

namespace sonde::detail {

// Ids of nodes, tensors and storages, all from one counter.
class NodeIds {
 public:
  std::uint64_t next() { return ++last_; }
  // 0 if the address is unknown.
  std::uint64_t of(std::uint64_t address) {
    if (address == 0) return 0;
    const auto [found, is_new] = of_address_.try_emplace(address, 0);
    if (is_new) found->second = next();
    return found->second;
  }

 private:
  std::uint64_t last_ = kRootNodeId;
  std::unordered_map<std::uint64_t, std::uint64_t> of_address_;
};

class NodeInputs {
 public:
  // The texts it makes are stored in `keeper`.
  NodeInputs(const Trace& trace, ExecutionTrace& keeper);
  ExecutionTraceValues of(SpanId span, NodeIds& ids);

 private:
  struct Lists;
  void put(SpanId span, OpArgumentId argument, Lists& lists, NodeIds& ids) const;
  void put_tensor(SpanId span, OpArgumentId argument, Lists& lists, NodeIds& ids) const;

  const Trace& trace_;
  ExecutionTrace& keeper_;
  std::vector<std::pair<SpanId, TensorUseId>> uses_;  // by span
};

}  // namespace sonde::detail
