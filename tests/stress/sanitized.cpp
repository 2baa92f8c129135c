// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Built with a sanitizer of g++: threads that record, and ends of all kinds. A clean run prints
// "done"; with `leak` or `race` it makes the mistake that the sanitizer should find.

#include <sonde/record.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<int> total{0};
int shared_count = 0;
void* lost = nullptr;

void work() {
  for (int i = 0; i < 1000; ++i) {
    SONDE_SCOPE("work");
    std::vector<std::string> texts(3, std::string(100, 'x'));
    total += static_cast<int>(texts[2].size());
  }
}

void race() {
  for (int i = 0; i < 100000; ++i) ++shared_count;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(what == "race" ? race : work);
  for (std::thread& thread : threads) thread.join();
  if (what == "leak") {
    lost = std::malloc(1000);
    std::memset(lost, 1, 1000);
    lost = nullptr;
  }
  std::printf("done %d\n", what == "race" ? 0 : total.load());
  return 3;
}
