// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Runs another program to its end and returns its output. No shell is involved.
//
//   SONDE_TRY(const ChildOutput said, child_output({"g++", "--version"}, ChildErrors::Kept));

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde::cli {

enum class ChildErrors : std::uint8_t {
  Kept,  // stderr is part of the output
  Dropped,
};

// Added to the number of the signal that killed a program, as shells do.
inline constexpr int kStatusOfSignals = 128;

struct ChildOutput {
  int status = 0;  // kStatusOfSignals + N if signal N killed it
  std::string text;
};

// Fails only if the program cannot be started. Its standard input is empty.
Result<ChildOutput> child_output(const std::vector<std::string>& words, ChildErrors errors);

// The command as one would type it into a shell.
std::string command_text(const std::vector<std::string>& words);

}  // namespace sonde::cli
