// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the victim reports to its killer, in a file that both map.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace sonde::testing {

struct Progress {
  std::atomic<std::uint64_t> completed[2];  // scopes that each worker has begun and ended
};

inline Progress* map_progress(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(Progress)) != 0) return nullptr;
  void* mapped = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<Progress*>(mapped);
}

}  // namespace sonde::testing
