// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Call stacks and chains of modules, from the texts that Kineto writes:
//
//   "torch/nn/modules/linear.py(134): forward;train.py(10): <module>;"      innermost first
//   "TOP(Net)::forward.fc1(Linear)::forward."                               outermost first

#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "sonde/trace/builder.h"

namespace sonde {

class StackReader {
 public:
  explicit StackReader(TraceBuilder& builder) : builder_(builder) {}

  // `text` must be decoded. Equal frames and equal outer parts of stacks are shared.
  StackId stack(std::string_view text);
  // Invalid if the text does not have that form.
  ModuleId module(std::string_view text);

 private:
  FrameId frame(std::string_view entry);

  TraceBuilder& builder_;
  std::map<StringId, FrameId> frames_;  // by the whole entry's text, which is not kept
  std::map<std::pair<FrameId, StackId>, StackId> stacks_;
  std::map<std::tuple<StringId, StringId, StringId, ModuleId>, ModuleId> modules_;
  StringPool entries_;
};

}  // namespace sonde
