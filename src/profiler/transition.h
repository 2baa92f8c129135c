// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The state machine of a profiler, as a table: what is done when one action follows another. Pure;
// Profiler carries it out.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sonde/profile/schedule.h"

namespace sonde {

enum class Phase : std::uint8_t { Prepare, Start, Stop, Ready };

struct Transition {
  std::array<Phase, 4> phases{};
  std::size_t count = 0;
  const char* warning = nullptr;  // a schedule that skips what it should not
  bool reachable = true;

  const Phase* begin() const { return phases.data(); }
  const Phase* end() const { return phases.data() + count; }
};

const Transition& transition(ProfilerAction from, ProfilerAction to);
// When the profiler is stopped in `from`.
const Transition& exit_transition(ProfilerAction from);

// The action of a step for which the schedule says `scheduled`, where the step before it was
// `previous` (and its schedule had said `previous_scheduled`). A cycle whose device stopped early
// goes to DeviceStopped and stays there until the cycle's end by the schedule.
ProfilerAction settle_action(ProfilerAction previous, ProfilerAction previous_scheduled,
                             ProfilerAction scheduled, bool device_stopped);

}  // namespace sonde
