// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// How Sonde records steps that the program does not mark: as spans with the names that PyTorch
// gives to marked steps, so that every analysis finds them. Metadata says how they were recognised.

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
