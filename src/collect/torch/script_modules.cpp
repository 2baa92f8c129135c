// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/script_modules.h"

#include <torch/csrc/jit/runtime/interpreter.h>

#include "sonde/source/op.h"

namespace sonde::torch {
namespace {

// "layer1(Layer)::forward" below `parent`.
std::uint32_t make_module(std::uint32_t parent, const std::string& text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.find(")::");
  if (open == std::string::npos || close == std::string::npos || close < open)
    return sonde_module(parent, text.c_str(), "", "");
  return sonde_module(parent, text.substr(0, open).c_str(),
                      text.substr(open + 1, close - open - 1).c_str(),
                      text.substr(close + 3).c_str());
}

}  // namespace

std::uint32_t ScriptModules::here() {
  const std::vector<std::string> hierarchy = ::torch::jit::currentModuleHierarchy();
  std::uint32_t module = 0;
  std::string way;
  for (const std::string& step : hierarchy) {
    way += step;
    way += '\x1f';
    std::uint32_t& number = known_[way];
    if (number == 0) number = make_module(module, step);
    module = number;
  }
  return module;
}

}  // namespace sonde::torch
