// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A thread may forbid itself what recording needs: to read the processor's counter (PR_SET_TSC), or
// all system calls but four (strict seccomp). Its next event would end the program. prctl() is
// ours, and tells the recorder first.

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

#include "agent/run_environment.h"
#include "preload/giving_up.h"

namespace {

using Prctl = int(int, ...);

std::atomic<sonde::BeforeGivingUp*> before_giving_up{nullptr};
std::atomic<Prctl*> next_prctl{nullptr};

void tell(int what) {
  if (auto* const before = before_giving_up.load(std::memory_order_acquire)) before(what);
}

}  // namespace

namespace sonde {

void find_next_prctl() {
  next_prctl.store(reinterpret_cast<Prctl*>(::dlsym(RTLD_NEXT, "prctl")));
}

}  // namespace sonde

#define SONDE_EXPORT __attribute__((visibility("default")))

extern "C" {

SONDE_EXPORT void sonde_preload_watch_threads(sonde::BeforeGivingUp* before) {
  before_giving_up.store(before, std::memory_order_release);  // pairs with tell
}

SONDE_EXPORT int prctl(int option, ...) noexcept {
  va_list given;
  va_start(given, option);
  unsigned long values[4];
  for (unsigned long& value : values) value = va_arg(given, unsigned long);
  va_end(given);
#if defined(PR_SET_TSC)
  if (option == PR_SET_TSC && values[0] == PR_TSC_SIGSEGV) tell(0);
#endif
  if (option == PR_SET_SECCOMP && values[0] == SECCOMP_MODE_STRICT) tell(1);
  // That of Sonde's recorder, if the program is linked with it, or the C library's.
  if (Prctl* const next = next_prctl.load(std::memory_order_relaxed))
    return next(option, values[0], values[1], values[2], values[3]);
  return static_cast<int>(::syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]));
}

}  // extern "C"
