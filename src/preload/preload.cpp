// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Waits until the process has loaded libtorch or Sonde's recorder, then opens the agent.
//
// At start: we replace __libc_start_main(). It runs when all libraries of the program have been
// initialised, and before the program itself. Linked libraries are found here.
//
// Later: we replace dlopen(). It must not call dlopen() while a constructor runs (libraries that
// call dlopen() in their constructors would then run twice), and glibc uses the RUNPATH of the
// library that calls dlopen(). So there are two cases:
// - We open a path ourselves, because it does not matter who asks for it. When the outermost call
//   of a thread has returned, no constructor runs on that thread, and the agent is opened at once:
//   no event is missed.
// - We pass a bare name on with a jump, so that glibc sees the real caller. We do not learn when
//   that call returns, or whether a later call comes from a constructor inside it. From then on a
//   watcher, a thread that lives for a second, opens the agent. Its dlopen() waits for the loader's
//   lock, and so for all constructors.

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "agent/run_environment.h"
#include "preload/decimal.h"
#include "preload/endings.h"
#include "preload/giving_up.h"

#define SONDE_EXPORT __attribute__((visibility("default")))

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace {

using Dlopen = void*(const char*, int);
using Main = int(int, char**, char**);
using StartMain = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);

std::atomic<const char*> agent_path{nullptr};  // null: this process is not recorded
std::atomic<bool> record_attached{false};
std::atomic<bool> torch_attached{false};
std::atomic<unsigned> wakes{0};         // dlopen() calls that need a watcher
std::atomic<pid_t> watcher_process{0};  // the process in which a watcher runs

__thread int depth __attribute__((tls_model("initial-exec"))) = 0;
__thread bool handed_over __attribute__((tls_model("initial-exec"))) = false;

Dlopen* next_dlopen() {
  static std::atomic<Dlopen*> found{nullptr};
  Dlopen* next = found.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = reinterpret_cast<Dlopen*>(::dlsym(RTLD_NEXT, "dlopen"));
    found.store(next, std::memory_order_relaxed);
  }
  return next;
}

bool begins_with(const char* text, const char* beginning) {
  return ::strncmp(text, beginning, ::strlen(beginning)) == 0;
}

struct Loaded {
  bool record = false;
  char torch[4096] = "";  // the path of libtorch_cpu
};

int look_at_library(dl_phdr_info* info, size_t, void* opaque) {
  auto* loaded = static_cast<Loaded*>(opaque);
  const char* slash = ::strrchr(info->dlpi_name, '/');
  const char* name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (begins_with(name, "libsonde_record.so")) loaded->record = true;
  if (begins_with(name, "libtorch_cpu.so") && ::strlen(info->dlpi_name) < sizeof(loaded->torch))
    ::memcpy(loaded->torch, info->dlpi_name, ::strlen(info->dlpi_name) + 1);
  return 0;
}

// Writes one line for `sonde run`: why the agent could not be opened in this process.
void report_error(const char* message) {
  const char* path = ::getenv(sonde::kRunReport);
  if (path == nullptr || message == nullptr) return;
  const int fd = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  char line[1024] = "error\t";
  size_t length = ::strlen(line);
  length = static_cast<size_t>(sonde::put_decimal(line + length, ::getpid()) - line);
  line[length++] = '\t';
  for (; *message != '\0' && length < sizeof(line) - 1; ++message)
    line[length++] = *message == '\n' || *message == '\t' ? ' ' : *message;
  line[length++] = '\n';
  const ssize_t written = ::write(fd, line, length);
  static_cast<void>(written);
  ::close(fd);
}

void call_agent(const char* path, const char* torch) {
  // RTLD_LOCAL: only we use what the agent brings, and libtorch, which Python opens the same way,
  // must not become visible to the whole program through the adapter.
  // RTLD_LAZY: looking up all functions takes milliseconds, which short processes would notice.
  void* agent = next_dlopen()(path, RTLD_LAZY | RTLD_LOCAL);
  if (agent == nullptr) return report_error(::dlerror());
  auto* entry = reinterpret_cast<sonde::AgentEntry*>(::dlsym(agent, sonde::kAgentEntry));
  if (entry == nullptr) return report_error(::dlerror());
  entry(torch);
}

// Opens the agent if something was loaded that it serves. A second caller does not wait.
void attach_to_what_is_loaded() {
  const char* path = agent_path.load(std::memory_order_acquire);  // pairs with begin
  if (path == nullptr || torch_attached.load(std::memory_order_relaxed)) return;
  const int kept_errno = errno;
  Loaded loaded;
  ::dl_iterate_phdr(look_at_library, &loaded);
  const bool torch = loaded.torch[0] != '\0' && !torch_attached.exchange(true);
  // The agent itself loads the recorder, so this stays true from then on.
  const bool record = loaded.record && !record_attached.exchange(true);
  if (torch || record) {
    record_attached.store(true);
    ++depth;  // libraries of the agent may call dlopen()
    call_agent(path, torch ? loaded.torch : nullptr);
    --depth;
  }
  errno = kept_errno;
}

// Waits until no other thread is inside dlopen().
void wait_for_loader() {
  if (void* program = next_dlopen()(nullptr, RTLD_LAZY)) ::dlclose(program);
}

void sleep_ms(long milliseconds) {
  const timespec time = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

void* watch(void*) {
  constexpr long kLongestSleepMs = 512;
  for (;;) {
    unsigned seen = wakes.load();
    for (long pause_ms = 1; pause_ms <= kLongestSleepMs; pause_ms *= 2) {
      wait_for_loader();
      attach_to_what_is_loaded();
      if (torch_attached.load()) break;
      sleep_ms(pause_ms);
      const unsigned now = wakes.load();
      if (now != seen) pause_ms = 1;
      seen = now;
    }
    watcher_process.store(0);
    if (torch_attached.load() || wakes.load() == seen) return nullptr;
    pid_t none = 0;
    if (!watcher_process.compare_exchange_strong(none, ::getpid())) return nullptr;
  }
}

void wake_watcher() {
  wakes.fetch_add(1);
  const pid_t self = ::getpid();
  // After a fork() the watcher exists only in the parent.
  if (watcher_process.exchange(self) == self) return;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t kept;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &kept);  // the program's signals are not for it
  pthread_t thread;
  if (::pthread_create(&thread, &attributes, watch, nullptr) != 0) watcher_process.store(0);
  ::pthread_sigmask(SIG_SETMASK, &kept, nullptr);
  ::pthread_attr_destroy(&attributes);
}

bool is_served() {
  return agent_path.load(std::memory_order_relaxed) != nullptr &&
         !torch_attached.load(std::memory_order_relaxed);
}

// Removes `entry` from a variable's list, in place. If it was the only one, removes the variable
// from the environment.
void leave_list(const char* variable, const char* entry) {
  char* list = ::getenv(variable);
  if (list == nullptr || entry == nullptr) return;
  char* at = ::strstr(list, entry);
  if (at == nullptr) return;
  char* rest = at + ::strlen(entry);
  while (*rest == ':' || *rest == ' ') ++rest;
  ::memmove(at, rest, ::strlen(rest) + 1);
  if (list[0] == '\0') ::unsetenv(variable);
}

// So that children of this process are not affected.
void clear_environment() {
  leave_list("LD_PRELOAD", ::getenv(sonde::kRunPreload));
  leave_list(sonde::kOpenclLayers, ::getenv(sonde::kRunOpencl));
  leave_list(sonde::kAsanOptions, sonde::kAsanMayBeSecond);
  const char* const named = ::getenv(sonde::kNvtxInjection);
  const char* const ours = ::getenv(sonde::kRunNvtx);
  if (named != nullptr && ours != nullptr && ::strcmp(named, ours) == 0)
    ::unsetenv(sonde::kNvtxInjection);
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!begins_with(*variable, sonde::kRunPrefix)) *kept++ = *variable;
  }
  *kept = nullptr;
}

void begin() {
  const char* path = ::getenv(sonde::kRunAgent);
  if (path == nullptr) return;
  const char* only = ::getenv(sonde::kRunOnlyPid);
  if (only != nullptr && ::strtol(only, nullptr, 10) != ::getpid()) return clear_environment();
  agent_path.store(::strdup(path), std::memory_order_release);  // pairs with attach
  attach_to_what_is_loaded();
}

void* open_and_attach(const char* file, int mode) {
  ++depth;
  void* library = next_dlopen()(file, mode);
  --depth;
  if (library == nullptr || depth > 0) return library;
  if (handed_over) {
    wake_watcher();
  } else {
    attach_to_what_is_loaded();
  }
  return library;
}

}  // namespace

extern "C" {

// Returns where dlopen() continues, with the arguments and the return address of its caller.
__attribute__((visibility("hidden"), used)) Dlopen* sonde_preload_choose(const char* file) {
  if (!is_served()) return next_dlopen();
  const bool is_path = file == nullptr || ::strchr(file, '/') != nullptr;
  const bool depends_on_caller = !is_path || (file != nullptr && ::strchr(file, '$') != nullptr);
  if (!depends_on_caller) return open_and_attach;
  handed_over = true;
  wake_watcher();
  return next_dlopen();
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the C library's name
SONDE_EXPORT int __libc_start_main(Main* main, int argc, char** argv, void (*init)(),
                                   void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  auto* next = reinterpret_cast<StartMain*>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  sonde::find_next_endings();
  sonde::find_next_prctl();
  begin();
  return next(main, argc, argv, init, fini, rtld_fini, stack_end);
}

#if defined(__x86_64__)
__asm__(R"(
  .text
  .globl dlopen
  .type dlopen, @function
dlopen:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call sonde_preload_choose
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size dlopen, .-dlopen
)");
#elif defined(__aarch64__)
__asm__(R"(
  .text
  .globl dlopen
  .type dlopen, %function
dlopen:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  stp x0, x1, [sp, #16]
  bl sonde_preload_choose
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
  .size dlopen, .-dlopen
)");
#else
// Without the jump, bare names are searched for as if Sonde had asked.
SONDE_EXPORT void* dlopen(const char* file, int mode) {
  return sonde_preload_choose(file)(file, mode);
}
#endif

}  // extern "C"
