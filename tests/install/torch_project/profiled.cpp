// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ATen/ATen.h>
#include <sonde/profiler.h>

#include <cstdio>

// Nothing here names Sonde::torch: linking it is enough.
int main(int, char** argv) {
  sonde::ProfilerOptions options;
  options.output = argv[1];
  sonde::Profiler profiler(options);
  profiler.start();
  at::ones({2, 3}).mul(2);
  profiler.stop();
  const auto closed = profiler.close();
  if (!closed) std::fprintf(stderr, "%s\n", closed.error().message.c_str());
  return closed ? 0 : 1;
}
