// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/collective_facts.h"

#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>

#include "sonde/sonde.h"

#if __has_include(<torch/csrc/distributed/c10d/ParamCommsUtils.hpp>)
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#define SONDE_TORCH_TELLS_OF_COLLECTIVES 1
#else
#define SONDE_TORCH_TELLS_OF_COLLECTIVES 0
#endif

namespace sonde::torch {
namespace {

// Longer lists are cut, as PyTorch does.
constexpr std::size_t kMostListed = 30;

// Later versions of torch have more fields. The first overload that compiles is used.
template <typename Info>
auto read_async_flag(const Info& info, CollectiveFacts& facts, int /*later*/)
    -> decltype(info.getIsAsynchronizedOp(), void()) {
  facts.is_async = static_cast<bool>(info.getIsAsynchronizedOp()) ? 1 : 0;
}
template <typename Info>
void read_async_flag(const Info& /*info*/, CollectiveFacts& /*facts*/, long /*earlier*/) {}

template <typename Info>
auto read_facts(const Info& info, CollectiveFacts& facts, int /*later*/)
    -> decltype(info.getProcessGroupDesc(), bool()) {
  facts.name = info.getCollectiveName();
  facts.in_elements = info.getInMessageNelems();
  facts.out_elements = info.getOutMessageNelems();
  facts.group_size = info.getWorldSize();
  facts.rank_start = info.getGlobalRankStart();
  facts.rank_stride = info.getGlobalRankStride();
  facts.group_name = info.getProcessGroupName();
  facts.group_description = info.getProcessGroupDesc();
  facts.group_ranks.assign(info.getGroupRanks().begin(), info.getGroupRanks().end());
  read_async_flag(info, facts, 0);
  return true;
}
template <typename Info>
auto read_facts(const Info& info, CollectiveFacts& facts, long /*earlier*/)
    -> decltype(info.getColumnName(), bool()) {
  facts.name = info.getColumnName();
  facts.in_elements = info.getInMessageSize();
  facts.out_elements = info.getOutMessageSize();
  return true;
}
template <typename Info>
bool read_facts(const Info& /*info*/, CollectiveFacts& /*facts*/, ... /*in between*/) {
  return false;
}

void argument(const char* key, const std::string& value) {
  if (!value.empty()) sonde_arg_text(key, value.data(), value.size());
}
void argument(const char* key, std::int64_t value) {
  if (value >= 0) sonde_arg_int(key, value);
}
void argument(const char* key, const std::vector<std::int64_t>& values) {
  std::string list = "[";
  for (std::size_t i = 0; i < std::min(values.size(), kMostListed); ++i)
    list += (i > 0 ? ", " : "") + std::to_string(values[i]);
  argument(key, list + (values.size() > kMostListed ? ", ...]" : "]"));
}

}  // namespace

std::optional<CollectiveFacts> collective_facts() {
#if SONDE_TORCH_TELLS_OF_COLLECTIVES
  const auto* const info = static_cast<const ::torch::ParamCommsDebugInfo*>(
      c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PARAM_COMMS_INFO));
  CollectiveFacts facts;
  if (info == nullptr || !read_facts(*info, facts, 0)) return std::nullopt;
  facts.dtype = c10::toString(info->getDType());
  facts.in_split = info->getInputSplitSizes();
  facts.out_split = info->getOutputSplitSizes();
  facts.rank = info->getRank();
  return facts;
#else
  return std::nullopt;
#endif
}

void record_collective() {
  const std::optional<CollectiveFacts> facts = collective_facts();
  if (!facts) return;
  argument("name", facts->name);
  argument("dtype", facts->dtype);
  argument("in_elements", facts->in_elements);
  argument("out_elements", facts->out_elements);
  argument("in_split", facts->in_split);
  argument("out_split", facts->out_split);
  argument("rank", facts->rank);
  if (facts->group_size < 0) return;
  argument("group_size", facts->group_size);
  argument("rank_start", facts->rank_start);
  if (facts->rank_stride > 0) argument("rank_stride", facts->rank_stride);
  argument("group_name", facts->group_name);
  argument("group_description", facts->group_description);
  argument("group_ranks", facts->group_ranks);
  argument("is_async", static_cast<std::int64_t>(facts->is_async));
  // Of a send or a receive, the rank is that of the other side.
  const auto place = static_cast<std::size_t>(facts->rank);
  if (facts->rank < 0 || place >= facts->group_ranks.size()) return;
  if (facts->name == "send") argument("destination_rank", facts->group_ranks[place]);
  if (facts->name == "recv") argument("source_rank", facts->group_ranks[place]);
}

}  // namespace sonde::torch
