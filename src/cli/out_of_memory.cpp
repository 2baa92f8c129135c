// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>

namespace sonde::cli {
namespace {

constexpr int kNoMemoryStatus = 1;

// Whether `new` has refused memory to any thread.
std::atomic<bool> was_refused{false};

void on_refusal() {
  was_refused = true;
  throw std::bad_alloc();
}

[[noreturn]] void end_without_memory() {
  say_out_of_memory();
  ::_exit(kNoMemoryStatus);
}

// For exceptions that nobody caught.
void on_terminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (...) {
    std::abort();
  }
  // g++ ends some functions that may not throw without letting the exception be known.
  if (was_refused && std::uncaught_exceptions() > 0) end_without_memory();
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
  std::set_new_handler(on_refusal);
}

}  // namespace sonde::cli
