// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A profiler's state machine as a table: what to do when one action follows another. Pure; Profiler
// carries it out.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sonde/profile/schedule.h"

namespace sonde {

enum class Phase : std::uint8_t { Prepare, Start, Stop, Ready };

struct Transition {
  std::array<Phase, 4> phases{};
  std::size_t count = 0;
  const char* warning = nullptr;  // the schedule skipped an action that it must not skip
  bool reachable = true;

  const Phase* begin() const { return phases.data(); }
  const Phase* end() const { return phases.data() + count; }
};

const Transition& transition(ProfilerAction from, ProfilerAction to);
// What to do when the profiler is stopped in `from`.
const Transition& exit_transition(ProfilerAction from);

// The action of a step for which the schedule says `scheduled`, if the step before had `previous`
// (for which the schedule had said `previous_scheduled`). A cycle whose device stopped early goes
// to DeviceStopped and stays there until its scheduled end.
ProfilerAction settle_action(ProfilerAction previous, ProfilerAction previous_scheduled,
                             ProfilerAction scheduled, bool device_stopped);

}  // namespace sonde
