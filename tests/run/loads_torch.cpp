// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens the stand-in for libtorch while it runs, by a path or by a bare name that only its RUNPATH
// finds, and runs operators: `run_loads_torch LIBRARY COUNT [MILLISECONDS]`, which it waits first;
// with `fork` in their place a child runs them at once, and ends by _exit().

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "fake_torch.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 3;
  }
  if (argc > 3 && std::strcmp(argv[3], "fork") != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[3])));
  auto* const run = reinterpret_cast<decltype(&fake_torch_run)>(::dlsym(library, "fake_torch_run"));
  auto* const in_time = reinterpret_cast<decltype(&fake_torch_observed_in_time)>(
      ::dlsym(library, "fake_torch_observed_in_time"));
  auto* const memory_reports = reinterpret_cast<decltype(&fake_torch_memory_reports)>(
      ::dlsym(library, "fake_torch_memory_reports"));
  if (run == nullptr || in_time == nullptr || memory_reports == nullptr) return 4;
  if (argc > 3 && std::strcmp(argv[3], "fork") == 0) {
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
