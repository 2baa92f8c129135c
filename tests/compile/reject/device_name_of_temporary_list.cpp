// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/profiler.h>

#include <string>

std::string caller(const sonde::Profiler& prof) {
#ifdef REJECT
  const std::string_view device = prof.events().use_device();
#else
  const sonde::EventList events = prof.events();
  const std::string_view device = events.use_device();
#endif
  return std::string(device);
}
