// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sonde::torch {

// Finds the running module of a TorchScript program. Use one per thread.
class ScriptModules {
 public:
  // The number of the innermost module, for sonde_op_place; 0 outside scripts.
  std::uint32_t here();

 private:
  std::unordered_map<std::string, std::uint32_t> known_;  // by the whole path to it
};

}  // namespace sonde::torch
