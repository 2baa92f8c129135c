// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/profiler.h>

#include <algorithm>

std::ptrdiff_t caller(const sonde::Profiler& prof) {
#ifdef REJECT
  const auto first = prof.key_averages().begin();
  return prof.key_averages().end() - first;
#else
  const sonde::KeyAverages averages = prof.key_averages();
  return averages.end() - averages.begin();
#endif
}
