// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that records until it is killed or ends in one of several bad ways.
//
//   pipeline_victim OUTPUT POLICY ENDING PROGRESS_FILE

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "progress.h"
#include "sonde/profiler.h"
#include "sonde/record.h"

namespace {

// `pauses`: sleeps now and then, so that the buffers are never full.
void work(std::atomic<std::uint64_t>& completed, bool pauses) {
  for (std::uint64_t i = 1;; ++i) {
    {
      SONDE_SCOPE("work");
      SONDE_SCOPE("inner");
    }
    completed.store(i, std::memory_order_relaxed);
    if (pauses && i % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

sigset_t only_sigterm() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  return set;
}

void record_some() {
  for (int i = 0; i < 1000; ++i) {
    SONDE_SCOPE("after giving up");
  }
}

[[noreturn]] void end_badly(const std::string& ending) {
#if defined(__x86_64__)
  if (ending == "give up the counter") {
    ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    record_some();
    std::thread(record_some).join();
    std::exit(8);
  }
#endif
  if (ending == "give up system calls") {
    static std::atomic<bool> done{false};
    std::thread([] {
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
      record_some();
      done = true;
      ::syscall(SYS_exit, 0);
    }).detach();
    while (!done) std::this_thread::yield();
    std::exit(8);
  }
  if (ending == "abort") std::abort();
  if (ending == "_exit") ::_exit(7);
  if (ending == "exit" || ending == "exit without a counter") std::exit(8);
  if (ending == "exit on SIGTERM") {
    int number = 0;
    const sigset_t awaited = only_sigterm();
    ::sigwait(&awaited, &number);
    std::exit(8);
  }
  if (ending == "crash") {
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  }
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  sonde::testing::Progress* progress = sonde::testing::map_progress(argv[4]);
  if (progress == nullptr) return 3;

  sonde::ProfilerOptions options;
  options.output = argv[1];
  options.policy = std::strcmp(argv[2], "ring") == 0   ? sonde::BufferPolicy::Ring
                   : std::strcmp(argv[2], "drop") == 0 ? sonde::BufferPolicy::Drop
                                                       : sonde::BufferPolicy::Spill;
  const std::string ending = argv[3];
#if defined(__x86_64__)
  if (ending == "exit without a counter") ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
#endif
  const bool floods = ending == "flood";
  if (floods) options.budget_bytes = std::uint64_t{2} << 20;
  if (ending == "exit on SIGTERM") {
    const sigset_t awaited = only_sigterm();
    ::sigprocmask(SIG_BLOCK, &awaited, nullptr);  // in all threads
  }
  auto* profiler = new sonde::Profiler(options);  // like a global: never destroyed in time
  profiler->add_metadata("purpose", "to be killed");
  profiler->start();
  SONDE_SCOPE("for ever");
  std::thread(work, std::ref(progress->completed[0]), !floods).detach();
  std::thread(work, std::ref(progress->completed[1]), !floods).detach();
  for (const auto& completed : progress->completed) {
    while (ending != "wait" && !floods && completed.load() < 1000) std::this_thread::yield();
  }
  end_badly(ending);
}
