// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sonde/profiler.h>
#include <sonde/record.h>

#include <cmath>
#include <cstdio>

double series(int terms) {
  SONDE_FUNCTION();  // added: a span from here to the closing brace
  double sum = 0;
  for (int k = 0; k < terms; ++k) sum += std::pow(-1, k) / (2 * k + 1);
  return 4 * sum;
}

int main() {
  sonde::ScopedProfiler prof({.output = "first_profile.sonde"});  // added: records this block
  for (int terms = 1; terms <= 10'000; terms *= 10)
    std::printf("%5d terms: %.6f\n", terms, series(terms));
}
