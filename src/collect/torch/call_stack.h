// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where an operator was called from: the stack of the TorchScript or Python code that runs, or the
// native stack if neither does.

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "sonde/source/python_stack.h"

namespace sonde::torch {

// Use one per thread. A stack that was seen before costs the walk and a look-up. The stack of an
// operator inside another usually costs nothing.
class CallStacks {
 public:
  // The number of the caller's stack, for sonde_op_place; 0 if it is not available. `depth` is the
  // number of operators that are open around it on this thread. Every operator either calls this or
  // forget() when it begins. `natively_too`: below Python's lines, what they called.
  std::uint32_t here(std::size_t depth, bool natively_too);
  void forget(std::size_t depth) {
    if (depth < places_.size()) places_[depth] = {};
  }
  void forget_all() { places_ = {}; }

 private:
  std::uint32_t native();
  std::uint32_t native_and_python();
  std::uint32_t script();

  static constexpr std::size_t kMostPlaces = 32;             // deeper operators are walked
  std::array<sonde_python_place, kMostPlaces> places_ = {};  // of open operators, by depth
  std::unordered_map<std::uint64_t, std::uint32_t> known_;   // by a hash of the addresses
};

// Finds a way to walk stacks. Call it before the first operator is recorded.
void prepare_call_stacks();

}  // namespace sonde::torch
