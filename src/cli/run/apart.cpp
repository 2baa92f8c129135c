// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/apart.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "cli/print/interrupts.h"

namespace sonde::cli {
namespace {

constexpr int kOutOfMemory = 3;
constexpr int kThrew = 4;

int status_of(const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (...) {
    return kThrew;
  }
}

std::string failure_text(int status) {
  if (status == 0) return "";
  return status == kOutOfMemory ? "there is too little memory" : "an error in Sonde";
}

}  // namespace

std::string run_apart(const std::function<void()>& work) {
  std::fflush(nullptr);  // otherwise both would write it
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const int status = status_of(work);
    std::fflush(nullptr);
    ::_exit(status);
  }
  if (child < 0) return failure_text(status_of(work));
  const InterruptsAwaited interrupts;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return failure_text(WEXITSTATUS(status));
  return std::string("killed by signal ") + std::to_string(WTERMSIG(status)) + " (" +
         ::strsignal(WTERMSIG(status)) + ")";
}

}  // namespace sonde::cli
