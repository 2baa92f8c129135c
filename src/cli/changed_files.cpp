// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/changed_files.h"

#include <signal.h>
#include <unistd.h>

namespace sonde::cli {
namespace {

constexpr int kFailedStatus = 1;

// A signal handler: it may call nothing else.
void on_missing_bytes(int /*number*/, siginfo_t* info, void* /*context*/) {
  static constexpr char kChanged[] =
      "sonde: a file was changed or truncated while it was read; wait until it is complete, and "
      "try again\n";
  if (info->si_code != BUS_ADRERR) {  // a bug of ours
    ::signal(SIGBUS, SIG_DFL);
    return;
  }
  const ssize_t written = ::write(STDERR_FILENO, kChanged, sizeof(kChanged) - 1);
  static_cast<void>(written);
  ::_exit(kFailedStatus);
}

}  // namespace

void end_if_files_change() {
  struct sigaction action = {};
  action.sa_sigaction = on_missing_bytes;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace sonde::cli
