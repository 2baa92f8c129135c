// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// `sonde trigger`: has running PyTorch programs record themselves for a moment.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/print/output.h"
#include "sonde/result.h"

namespace sonde::cli {

struct TriggerCommand {
  std::vector<std::int32_t> pids;  // empty: all
  std::int64_t job = 0;            // 0: any
  std::string duration;            // "500ms"
  int steps = 0;                   // instead of a duration
  std::string folder = ".";
  std::string wait = "15s";  // for programs to ask
  bool shapes = false;
  bool memory = false;
  bool stack = false;
  bool flops = false;
  bool modules = false;
};
Result<void> check(const TriggerCommand& command);
Result<void> run_trigger(const TriggerCommand& command, Output& out);

// What a program is asked to do.
std::string trigger_configuration(const TriggerCommand& command, const std::string& file);

}  // namespace sonde::cli
