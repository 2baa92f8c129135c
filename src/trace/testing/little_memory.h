// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// For a child process of a test: checks that something works with little memory.
//
//   EXPECT_EXIT({ allow_more_memory(64 << 20); work(); std::exit(0); }, ExitedWithCode(0), "");

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace sonde::testing {

// From now on, the process may map only that many bytes more.
inline void allow_more_memory(std::size_t bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit both = {limit, limit};
  ::setrlimit(RLIMIT_AS, &both);
}

}  // namespace sonde::testing
