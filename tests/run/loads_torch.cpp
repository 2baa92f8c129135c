// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens the fake libtorch while it runs, by a path or by a bare name that only its RUNPATH finds,
// and runs operators: `run_loads_torch LIBRARY COUNT [wait|fork]`. With `wait` it first waits for
// an observer; with `fork` a child runs them at once and ends with _exit().

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fake_torch.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 3;
  }
  auto* const run = reinterpret_cast<decltype(&fake_torch_run)>(::dlsym(library, "fake_torch_run"));
  auto* const await_observer = reinterpret_cast<decltype(&fake_torch_await_observer)>(
      ::dlsym(library, "fake_torch_await_observer"));
  auto* const in_time = reinterpret_cast<decltype(&fake_torch_observed_in_time)>(
      ::dlsym(library, "fake_torch_observed_in_time"));
  auto* const memory_reports = reinterpret_cast<decltype(&fake_torch_memory_reports)>(
      ::dlsym(library, "fake_torch_memory_reports"));
  if (run == nullptr || await_observer == nullptr || in_time == nullptr ||
      memory_reports == nullptr)
    return 4;
  const std::string_view how = argc > 3 ? argv[3] : "";
  if (how == "wait") await_observer();
  if (how == "fork") {
    const pid_t child = ::fork();
    if (child == 0) {
      run(std::atoi(argv[2]));
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  run(std::atoi(argv[2]));
  std::printf("%d\n", memory_reports());
  return in_time() == 0 ? 5 : 0;  // 5: something attached inside the constructor
}
