// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/analyse/memory.h>

std::int64_t caller(const sonde::Trace& trace) {
#ifdef REJECT
  const auto device = sonde::memory_profile(trace).find("cuda:0");
#else
  const sonde::MemoryProfile memory = sonde::memory_profile(trace);
  const auto device = memory.find("cuda:0");
#endif
  return device ? (*device)->peak.live_bytes : 0;
}
