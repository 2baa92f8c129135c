// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What happens when events do not fit in the memory budget.

#include <cstdint>

namespace sonde {

// Whatever the policy, memory stays within the budget, a recording thread never waits, and every
// loss is counted in the trace's ledger.
enum class BufferPolicy : std::uint8_t {
  Spill,  // full buffers move to the file and are reused; the file may grow without limit
  Drop,   // keep the oldest: once the budget is used up, later events are dropped
  Ring,   // keep the newest: a flight recorder, written to the file when the window ends
};

}  // namespace sonde
