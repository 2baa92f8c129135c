// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/profiler.h>

// The list is gone at the end of the line, and the event would refer to nothing.
std::string_view caller(const sonde::Profiler& prof) {
#ifdef REJECT
  const sonde::FunctionEvent event = prof.events()[0];
  return event.name();
#else
  static const sonde::EventList events = prof.events();
  const sonde::FunctionEvent event = events[0];
  return event.name();
#endif
}
