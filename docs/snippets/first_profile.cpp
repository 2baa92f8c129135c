// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sonde/profiler.h>
#include <sonde/record.h>

#include <cstdio>

double half(double value) {
  SONDE_FUNCTION();  // added: a span from here to the closing brace
  return value / 2;
}

int main() {
  sonde::ScopedProfiler prof({.output = "first_profile.sonde"});  // added: records this block
  std::printf("%g\n", half(42));
}
