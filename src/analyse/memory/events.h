// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "analyse/memory/memory_data.h"

namespace sonde::detail {

// The blocks and events of each device, in the order of MemoryProfile's devices.
std::vector<DeviceMemory> list_events(const Trace& trace, FollowedBlocks followed, const Flow& flow,
                                      const std::vector<MemoryCategory>& categories);

}  // namespace sonde::detail
