// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose instructions check_instructions.py counts: codegen_count empty|idle|recording|lap
// COUNT

#include <cstdlib>
#include <cstring>

#include "collect/session.h"
#include "sonde/record.h"

namespace {

void work() {
  __asm__ volatile("");
}

}  // namespace

extern "C" {

__attribute__((noinline)) void measured_empty(int count) {
  for (int i = 0; i < count; ++i) work();
}

__attribute__((noinline)) void measured_scope(int count) {
  for (int i = 0; i < count; ++i) {
    SONDE_SCOPE("counted");
    work();
  }
}

__attribute__((noinline)) void measured_lap(int count) {
  sonde::Laps laps;
  for (int i = 0; i < count; ++i) {
    SONDE_LAP(laps, "counted");
    work();
  }
}
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[2]);
  const bool records = std::strcmp(argv[1], "recording") == 0 || std::strcmp(argv[1], "lap") == 0;
  auto session = sonde::Session::open({});
  if (!session) return 1;
  if (records && !(*session)->begin_window(0)) return 1;
  if (std::strcmp(argv[1], "empty") == 0) {
    measured_empty(count);
  } else if (std::strcmp(argv[1], "lap") == 0) {
    measured_lap(count);
  } else {
    measured_scope(count);
  }
  return 0;
}
