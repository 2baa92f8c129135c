// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/own_process.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace sonde {
namespace {

// The exit status of a process of its own that runs `body`.
template <typename Body>
int in_a_process(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    watch_own_process();
    body();
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool enter_sandbox() {
  sock_filter allow_all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {1, allow_all};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(OwnProcess, IsInASandboxOnceItHasEnteredOne) {
  const int status = in_a_process([] {
    if (is_in_sandbox()) ::_exit(1);
    if (!enter_sandbox()) ::_exit(2);
    ::_exit(is_in_sandbox() ? 0 : 3);
  });
  if (status == 2) GTEST_SKIP() << "seccomp filters are not permitted here";
  EXPECT_EQ(status, 0);
}

TEST(OwnProcess, HasALeaderThatHasEnded) {
  EXPECT_FALSE(ended_leader());
  const int status = in_a_process([] {
    std::thread([] {
      while (!ended_leader()) std::this_thread::yield();
      ::_exit(ended_leader()->threads_left == 1 ? 0 : 1);
    }).detach();
    ::syscall(SYS_exit, 0);  // the thread alone
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sonde
