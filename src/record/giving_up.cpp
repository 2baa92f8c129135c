// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A thread may forbid itself what recording needs: to read the processor's counter (PR_SET_TSC), or
// all system calls but four (strict seccomp). Its next event would end the program. So prctl() is
// ours in programs that are linked with this library. Under `sonde run`, that of src/preload/ does
// the same for all others.

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <string_view>

#include "record/recorder.h"
#include "record/slow_path.h"
#include "sonde/sonde.h"

namespace sonde::detail {

void before_giving_up(GivenUp what) noexcept {
  if (what == GivenUp::Counter) return lose_counter();
  constexpr std::string_view kMark = "strict seccomp: this thread records nothing from here on";
  sonde_mark(kMark.data(), kMark.size());
  fall_silent();
}

}  // namespace sonde::detail

extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) noexcept {
  using sonde::detail::GivenUp;
  va_list given;
  va_start(given, option);
  unsigned long values[4];
  for (unsigned long& value : values) value = va_arg(given, unsigned long);
  va_end(given);
#if defined(PR_SET_TSC)
  if (option == PR_SET_TSC && values[0] == PR_TSC_SIGSEGV)
    sonde::detail::before_giving_up(GivenUp::Counter);
#endif
  if (option == PR_SET_SECCOMP && values[0] == SECCOMP_MODE_STRICT)
    sonde::detail::before_giving_up(GivenUp::SystemCalls);
  return static_cast<int>(::syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]));
}
