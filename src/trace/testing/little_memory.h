// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// For a child process that a test starts: whether something gets along with so much memory.
//
//   EXPECT_EXIT({ allow_more_memory(64 << 20); work(); std::exit(0); }, ExitedWithCode(0), "");

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace sonde::testing {

// From now on the process may map that many bytes more than it has.
inline void allow_more_memory(std::size_t bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit both = {limit, limit};
  ::setrlimit(RLIMIT_AS, &both);
}

}  // namespace sonde::testing
