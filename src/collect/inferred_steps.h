// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How steps are recorded that the program does not mark itself: by spans with the name that PyTorch
// gives to those that it does, so that every analysis finds them, and by metadata that says how
// they were recognised.

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/known_names.h"

namespace sonde {

inline std::string step_name(std::int64_t number) {
  return std::string(kStepPrefix) + std::to_string(number);
}

// Whether the program marks the steps that were recognised by this rule.
inline bool is_marked_step(std::string_view rule) {
  return rule == kStepPrefix;
}

inline std::string inferred_steps_key() {
  return std::string(kStepsInferredFrom);
}

}  // namespace sonde
