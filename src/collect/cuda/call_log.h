// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes CUPTI's own records of calls and tags (external correlation) to a text file, for a test
// that compares them with Sonde's calls and their callers (tests/cuda/check_links.py). A program
// does so if the variable SONDE_CUDA_LOG_CALLS names a file. CUPTI then records every call, which
// Sonde otherwise does not need.
//
//   call CORRELATION runtime|driver THREAD START_NS END_NS
//   tag CORRELATION EXTERNAL_KIND EXTERNAL_ID

#include <cstdio>
#include <memory>

#include "collect/cuda/activity.h"

namespace sonde::cuda {

class CallLog {
 public:
  static bool is_wanted();
  // Null if it is not wanted or the file cannot be written.
  static std::unique_ptr<CallLog> from_environment();
  ~CallLog() { std::fclose(file_); }
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // Ignores everything but calls and tags.
  void add(const Activity& activity);

 private:
  explicit CallLog(std::FILE* file) : file_(file) {}
  std::FILE* file_;
};

}  // namespace sonde::cuda
