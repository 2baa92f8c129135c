// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What `sonde memory` prints about one device, gathered once for text and JSON.

#include <cstddef>
#include <vector>

#include "cli/print/output.h"
#include "sonde/analyse/memory_report.h"

namespace sonde::cli {

struct OutOfMemory {
  AllocationId row;
  MemoryMoment moment;
};

struct MemoryReport {
  MemoryReport(const MemoryProfile& whole, const DeviceMemory& one);

  const MemoryProfile& profile;
  const DeviceMemory& device;
  MemoryMoment peak;
  std::vector<OpMemory> ops;
  std::vector<StepMemory> steps;
  std::vector<MemoryLeak> leaks;
  std::vector<OutOfMemory> out_of_memory;  // the first few
};

void write_memory_text(const MemoryReport& report, std::size_t row_limit, Output& out);
void write_memory_json(const MemoryProfile& profile, const std::vector<MemoryReport>& reports,
                       std::size_t row_limit, Output& out);

}  // namespace sonde::cli
