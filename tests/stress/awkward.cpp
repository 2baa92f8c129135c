// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//   stress_awkward --list    the programs there are
//   stress_awkward NAME      runs one

#include "awkward.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace awkward {

std::vector<Program>& programs() {
  static std::vector<Program> all;
  return all;
}

void say(const std::string& text) {
  const std::string line = text + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return;
}

void pause_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::string ended(int pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return "no such child";
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "exit " + std::to_string(WEXITSTATUS(status));
}

}  // namespace awkward

int main(int argc, char** argv) {
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const std::string wanted = argc > 1 ? argv[1] : "--list";
  for (const awkward::Program& program : awkward::programs()) {
    if (wanted == "--list") std::puts(program.name);
    if (wanted != program.name) continue;
    awkward::work(100);
    return program.run();
  }
  return wanted == "--list" ? 0 : 99;
}
