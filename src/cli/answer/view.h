// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace sonde::cli {

// With an output: one file. Without: a server on this machine, until interrupted.
struct ViewCommand {
  std::string file;
  std::vector<std::string> more;     // further ranks of the same job
  std::vector<std::string> against;  // runs of the old version, to compare with
  OpenOptions open;
  std::string output;
  std::string at;  // what to show first, as the page's address has it
  int port = 0;    // 0: any
  bool browser = true;
  std::size_t most_spans = 0;  // in a file; 0: the default
};
Result<void> check(const ViewCommand& options);
Result<void> run_view(const ViewCommand& options, Output& out);

}  // namespace sonde::cli
