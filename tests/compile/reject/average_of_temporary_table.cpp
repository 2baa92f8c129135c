// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/profiler.h>

#include <string>

std::string caller(const sonde::Profiler& prof) {
#ifdef REJECT
  const sonde::EventAverage& row = prof.key_averages()[0];
#else
  const sonde::KeyAverages averages = prof.key_averages();
  const sonde::EventAverage& row = averages[0];
#endif
  return row.key;
}
