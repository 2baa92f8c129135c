// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: nodiscard
#include <sonde/profiler.h>

void work();

// Without a name it would end before the work begins.
void caller() {
#ifdef REJECT
  sonde::ScopedProfiler({.output = "work.sonde"});
#else
  const sonde::ScopedProfiler prof({.output = "work.sonde"});
#endif
  work();
}
