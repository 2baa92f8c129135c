// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that give up rights.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <thread>

#include "awkward.h"

namespace awkward {
namespace {

#ifndef SYS_open
#define SYS_open SYS_openat  // not every machine has it
#endif
#ifndef SYS_unlink
#define SYS_unlink SYS_unlinkat
#endif

// From here on those system calls have that result, in this thread or in all.
bool forbid(std::initializer_list<int> calls, unsigned action, bool in_all_threads) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   in_all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program) == 0;
}

int record_confined(std::initializer_list<int> calls, unsigned action, bool in_all_threads) {
  if (!forbid(calls, action, in_all_threads)) return 77;
  work(100000);
  std::thread([] { work(100); }).join();
  const pid_t child = ::fork();
  if (child == 0) {
    work(100);
    pause_ms(30);
    std::exit(5);
  }
  say(ended(child));
  return 6;
}

constexpr unsigned kRefused = SECCOMP_RET_ERRNO | 1;

int forbid_counter() {
  ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  work(1000);
  std::thread([] { work(100); }).join();
  say("counted");
  return 3;
}

int forbid_nearly_all() {
  work(100);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  work(1000);
  ::syscall(SYS_write, 1, "strict\n", 7);
  return static_cast<int>(::syscall(SYS_exit, 0));
}

int change_root() {
  if (::mkdir("root", 0700) != 0 || ::chroot("root") != 0 || ::chdir("/") != 0) return 77;
  work(10000);
  return 0;
}

int become_nobody() {
  if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 77;
  work(10000);
  return 0;
}

int leave_namespaces(int which) {
  if (::unshare(which) != 0) return 77;
  work(10000);
  return 0;
}

const Add added{
    {"forbid_openat", [] { return record_confined({SYS_openat, SYS_open}, kRefused, false); }},
    {"forbid_socket", [] { return record_confined({SYS_socket}, kRefused, false); }},
    {"forbid_openat_all", [] { return record_confined({SYS_openat, SYS_open}, kRefused, true); }},
    {"forbid_writes_all",
     [] { return record_confined({SYS_pwrite64, SYS_fallocate, SYS_ftruncate}, kRefused, true); }},
    {"forbid_unlink_all",
     [] { return record_confined({SYS_unlink, SYS_unlinkat}, kRefused, true); }},
    {"die_at_openat",
     [] { return record_confined({SYS_openat, SYS_open}, SECCOMP_RET_KILL_PROCESS, false); }},
    {"die_at_socket",
     [] { return record_confined({SYS_socket, SYS_socketpair}, SECCOMP_RET_KILL_PROCESS, false); }},
    {"die_at_openat_all",
     [] { return record_confined({SYS_openat, SYS_open}, SECCOMP_RET_KILL_PROCESS, true); }},
    {"die_at_socket_all",
     [] { return record_confined({SYS_socket, SYS_socketpair}, SECCOMP_RET_KILL_PROCESS, true); }},
    {"die_at_pwrite",
     [] { return record_confined({SYS_pwrite64}, SECCOMP_RET_KILL_PROCESS, false); }},
    {"forbid_counter", forbid_counter},
    {"forbid_nearly_all", forbid_nearly_all},
    {"not_dumpable",
     [] {
       ::prctl(PR_SET_DUMPABLE, 0);
       work(10000);
       return 0;
     }},
    {"change_root", change_root},
    {"become_nobody", become_nobody},
    {"own_mounts", [] { return leave_namespaces(CLONE_NEWNS); }},
    {"own_network", [] { return leave_namespaces(CLONE_NEWNET); }},
    {"own_files", [] { return leave_namespaces(CLONE_FILES | CLONE_FS); }},
};

}  // namespace
}  // namespace awkward
