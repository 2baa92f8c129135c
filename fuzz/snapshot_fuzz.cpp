// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads pickles of any content as snapshots of an allocator, and analyses them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "convert/snapshot/read_snapshot.h"
#include "promises.h"
#include "sonde/analyse/memory_report.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sonde::testing::require;
  const auto trace = sonde::read_snapshot({data, size}, "fuzz", sonde::TraceBuilder());
  if (!trace) return 0;
  sonde::testing::check_promises(*trace);
  const sonde::MemoryProfile memory = sonde::memory_profile(*trace);
  for (const sonde::DeviceMemory& device : memory.devices) {
    sonde::MemoryRun run(device);
    while (run.next()) {
      std::int64_t sum = 0;
      for (const std::int64_t bytes : run.by_category()) sum += bytes;
      require(sum == run.live_bytes() && run.live_bytes() >= 0);
    }
    const sonde::MemoryMoment peak = memory_moment(memory, device, device.peak.event);
    require(peak.live_bytes == device.peak.live_bytes);
  }
  return 0;
}
