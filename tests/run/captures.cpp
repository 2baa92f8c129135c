// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that marks what a tool should record by the functions of CUDA's runtime, and prints how
// often the runtime itself was called.

#include <sonde/record.h>

#include <cstdio>

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
extern "C" {
int cudaProfilerStart();
int cudaProfilerStop();
extern int fake_starts;
extern int fake_stops;
}
// NOLINTEND(readability-identifier-naming)

int main() {
  {
    SONDE_SCOPE("before");
  }
  int failures = cudaProfilerStart();
  {
    SONDE_SCOPE("first");
  }
  failures += cudaProfilerStop();
  {
    SONDE_SCOPE("between");
  }
  failures += cudaProfilerStart();
  {
    SONDE_SCOPE("second");
  }
  failures += cudaProfilerStop();
  {
    SONDE_SCOPE("after");
  }
  std::printf("%d starts, %d stops, %d failures\n", fake_starts, fake_stops, failures);
}
