// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The commands of the program: each takes its options as parsed, prints its result to `out`, and
// returns what went wrong for main() to say. One file a command; main.cpp alone knows the parser.

#include <string>

#include "cli/output.h"
#include "sonde/result.h"

namespace sonde::cli {

struct InfoOptions {
  std::string file;
  bool json = false;
};
Result<void> run_info(const InfoOptions& options, Output& out);

struct DumpOptions {
  std::string file;
};
Result<void> run_dump(const DumpOptions& options, Output& out);

}  // namespace sonde::cli
