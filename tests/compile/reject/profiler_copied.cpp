// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/profiler.h>

void caller(sonde::Profiler& profiler) {
#ifdef REJECT
  sonde::Profiler copy(profiler);
#else
  sonde::Profiler& same = profiler;
  same.step();
#endif
}
