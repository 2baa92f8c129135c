// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/profiler.h>

#include <string>

std::size_t caller(const sonde::Profiler& prof) {
  std::size_t size = 0;
  // A loop keeps the table that it iterates over, but not the one that its range comes from.
  for (const sonde::EventAverage& row : prof.key_averages()) size += row.key.size();
  for (const sonde::FunctionEvent event : prof.events()) size += event.name().size();
#ifdef REJECT
  for (const std::string& frame : prof.key_averages()[0].stack) size += frame.size();
#else
  const sonde::KeyAverages averages = prof.key_averages();
  for (const std::string& frame : averages[0].stack) size += frame.size();
#endif
  return size;
}
