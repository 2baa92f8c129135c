// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>

namespace sonde::cli {
namespace {

constexpr int kNoMemoryStatus = 1;

// For exceptions that nobody caught.
void on_terminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    ::_exit(kNoMemoryStatus);
  } catch (...) {
    std::abort();
  }
  std::abort();
}

}  // namespace

void say_out_of_memory() {
  static constexpr char kSentence[] =
      "sonde: not enough memory to do this: free some, or raise the limit (ulimit -v)\n";
  const ssize_t written = ::write(STDERR_FILENO, kSentence, sizeof(kSentence) - 1);
  static_cast<void>(written);
}

void end_if_memory_runs_out() {
  std::set_terminate(on_terminate);
}

}  // namespace sonde::cli
