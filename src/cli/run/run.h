// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// `sonde run`: starts an unmodified program and records it.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/run_options.h"
#include "cli/run/dump_on.h"
#include "sonde/result.h"

namespace sonde::cli {

struct RunCommand {
  std::vector<std::string> program;  // and its arguments
  RunOptions options;
  DumpOn dump_on;                  // what makes the ring a file; nothing: the program's end
  std::int64_t dumps = 10;         // at most, of a process
  bool as_torch_profiler = false;  // Sonde's profilers in place of torch's
  bool calls = false;              // of Python functions
  bool opencl = false;             // record work of OpenCL
  bool quiet = false;
  bool force = false;  // replace a file that exists
  bool with_gpu = false;
  bool with_execution_trace = false;  // beside the recording, unless the options name its file
};

// Whether the file names are valid. If not, the usage was wrong.
Result<void> check(const RunCommand& command);

// Returns the program's exit status, or 128 + N if signal N killed it; 127 if there is no such
// program, 126 if it cannot be started. Fails if Sonde itself fails.
Result<int> run_program(const RunCommand& command);

// The folder of libsonde.
Result<std::string> library_folder();
// The path of a library that is only opened at run time. When installed, these have a folder of
// their own; in a build folder, they are beside libsonde.
std::string plugin_path(const std::string& library_folder, const std::string& name);

}  // namespace sonde::cli
