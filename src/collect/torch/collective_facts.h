// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What torch tells of a collective while it is launched. Backends such as NCCL tell it within an
// operator of their own.

#include <ATen/record_function.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace sonde::torch {

struct CollectiveFacts {
  std::string name;
  std::string dtype;
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::vector<std::int64_t> in_split;
  std::vector<std::int64_t> out_split;
  std::int64_t rank = -1;  // of the process, or the root or the peer, in the group
  // Unknown in torch 1.13:
  std::int64_t group_size = -1;
  std::int64_t rank_start = -1;
  std::int64_t rank_stride = -1;
  std::string group_name;
  std::string group_description;
  std::vector<std::int64_t> group_ranks;
  int is_async = -1;
};

inline bool is_collective(const at::RecordFunction& fn) {
  return std::strcmp(fn.name(), "record_param_comms") == 0;
}

// Of the collective that this thread launches; nothing if torch does not tell.
std::optional<CollectiveFacts> collective_facts();

// Writes them to the operator that this thread began last, as arguments named after the columns of
// the table `collectives`.
void record_collective();

}  // namespace sonde::torch
