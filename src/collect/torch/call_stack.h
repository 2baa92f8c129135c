// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where an operator was called from: the stack of the TorchScript or Python code that runs, or the
// native stack if neither does.

#include <cstdint>
#include <unordered_map>

namespace sonde::torch {

// Use one per thread. A stack that was seen before costs the walk and a look-up.
class CallStacks {
 public:
  // The number of the caller's stack, for sonde_op_place; 0 if it is not available.
  std::uint32_t here();

 private:
  std::uint32_t native();
  std::uint32_t script();

  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // by a hash of the addresses
};

// Finds a way to walk stacks. Call it before the first operator is recorded.
void prepare_call_stacks();

}  // namespace sonde::torch
