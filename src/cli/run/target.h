// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The program that `sonde run` will start: where it is, and whether a library can be loaded into
// it.

#include <cstdint>
#include <string>

namespace sonde::cli {

enum class TargetKind : std::uint8_t {
  Ordinary,      // or a script that such a program runs
  Static,        // no loader would open the preload library
  Privileged,    // its loader ignores LD_PRELOAD
  OtherMachine,  // its loader cannot open our libraries
  OtherLibrary,  // the same, because it does not use the GNU C library
};

struct Target {
  std::string path;     // the path to start it with
  int errno_value = 0;  // why it cannot be found or started; 0 if it can
  TargetKind kind = TargetKind::Ordinary;
  std::string binary = {};  // what counts: `path`, or the script's interpreter

  // Children of a static or privileged program may be ordinary.
  bool can_preload() const {
    return kind != TargetKind::OtherMachine && kind != TargetKind::OtherLibrary;
  }
};

// Searches PATH as a shell does, and follows `#!` lines.
Target find_target(const std::string& program);

// Why nothing in it can be recorded; empty for an ordinary one.
std::string why_not(const Target& target);

}  // namespace sonde::cli
