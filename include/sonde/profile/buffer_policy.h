// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What happens when more is recorded than the memory set aside for it holds.

#include <cstdint>

namespace sonde {

// Whatever the policy, memory stays within the budget, a recording thread never waits, and every
// loss is counted in the trace's ledger.
enum class BufferPolicy : std::uint8_t {
  Spill,  // full buffers move to the file and are used again; the file may grow without end
  Drop,   // the oldest is kept: once the budget is spent, what comes later is dropped
  Ring,   // the newest is kept: a flight recorder, written to the file when the window ends
};

}  // namespace sonde
