// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/readable.h"

namespace sonde::cli {

Progress::Progress(std::string_view doing) : doing_(readable_line(doing)) {
  if (::isatty(STDERR_FILENO) != 0) shower_ = std::thread([this] { show_until_done(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  if (shower_.joinable()) shower_.join();
}

void Progress::show_until_done() {
  std::unique_lock lock(mutex_);
  int seconds = 0;
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
    ++seconds;
    std::fprintf(stderr, "\r%s: %d s", doing_.c_str(), seconds);
    std::fflush(stderr);
  }
  if (seconds > 0) std::fputs("\r\033[K", stderr);
}

}  // namespace sonde::cli
