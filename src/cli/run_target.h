// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The program that `sonde run` will start: where it is, and whether a library can be loaded into
// it.

#include <cstdint>
#include <string>

namespace sonde::cli {

enum class TargetKind : std::uint8_t {
  Ordinary,      // or a script that one runs
  Static,        // has no loader that would open the preload library
  Privileged,    // its loader ignores LD_PRELOAD
  OtherMachine,  // its loader cannot open our libraries
  OtherLibrary,  // the same, because it does not use the GNU C library
};

struct Target {
  std::string path;     // to start it by
  int errno_value = 0;  // why it cannot be found or started; 0 if it can
  TargetKind kind = TargetKind::Ordinary;
  std::string binary = {};  // the executable that decides: `path`, or what runs the script

  // Children of a static or privileged program may be ordinary ones.
  bool can_preload() const {
    return kind != TargetKind::OtherMachine && kind != TargetKind::OtherLibrary;
  }
};

// Looks along PATH as a shell does, and through `#!` lines.
Target find_target(const std::string& program);

// Why nothing can be recorded in it; empty for an ordinary one.
std::string why_not(const Target& target);

}  // namespace sonde::cli
