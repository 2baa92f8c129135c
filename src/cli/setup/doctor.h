// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The checks of `sonde doctor`. Each function examines one part of the machine and changes nothing.

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::cli {

enum class CheckState : std::uint8_t { Ok, Limited, Missing };

struct Check {
  std::string id;  // a stable key: "torch.python"
  CheckState state = CheckState::Ok;
  std::string found;   // what is there or missing
  std::string advice;  // what to do; empty if nothing
};

std::vector<Check> check_sonde();
std::vector<Check> check_recording();  // clock, disk, permissions
std::vector<Check> check_torch();
std::vector<Check> check_cuda();

}  // namespace sonde::cli
