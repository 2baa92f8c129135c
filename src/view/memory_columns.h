// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The events of a device as columns of numbers for a page, limited to what a page can hold. Beyond
// that, the smallest blocks are drawn together, as changes of their category.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sonde/analyse/memory.h"

namespace sonde::detail {

// Besides the numbers of MemoryAction: the bytes of a category change by the next `change`.
constexpr std::uint8_t kChangeAction = 5;

struct MemoryColumns {
  std::vector<double> time_ns;       // since the start of the trace; 0 if it existed before
  std::vector<std::uint32_t> block;  // of each event
  std::vector<std::uint8_t> kind;    // action | category << 4
  std::vector<double> change;        // bytes
  std::vector<double> block_bytes;
  std::vector<std::uint32_t> block_op;  // in ops
  std::vector<std::string> ops;
  std::size_t peak_event = 0;
};

MemoryColumns memory_columns(const MemoryProfile& profile, const DeviceMemory& device,
                             std::size_t most_events);

}  // namespace sonde::detail
