// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// `sonde run --dump-on`: what makes the ring a file.

#include <string>

#include "agent/dump_watch.h"
#include "sonde/result.h"

namespace sonde::cli {

struct DumpOn {
  DumpRules rules;        // for the agent; without number and ring
  bool crash = false;     // a signal ended the program, other than one that asks it to end
  bool bad_exit = false;  // it ended with another status than 0, or by any signal

  bool at_end() const { return crash || bad_exit; }
  bool any() const {
    return at_end() || rules.slow_step_percent > 0 || rules.hang_ns > 0 || rules.signal > 0;
  }
  bool needs_steps() const { return rules.slow_step_percent > 0 || rules.hang_ns > 0; }
};

// "slow-step:3x,hang:60s,signal:USR2,crash,exit!=0", in any order.
Result<DumpOn> parse_dump_on(const std::string& text);

}  // namespace sonde::cli
