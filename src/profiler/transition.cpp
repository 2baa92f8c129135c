// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "profiler/transition.h"

namespace sonde {
namespace {

using enum Phase;

template <typename... Phases>
constexpr Transition does(Phases... phases) {
  return {.phases = {phases...}, .count = sizeof...(phases)};
}

template <typename... Phases>
constexpr Transition warns(const char* warning, Phases... phases) {
  return {.phases = {phases...}, .count = sizeof...(phases), .warning = warning};
}

constexpr Transition kNothing{};
constexpr Transition kUnreachable{.reachable = false};
constexpr std::size_t kExit = 5;

// Rows: from None, Warmup, Record, RecordAndSave, DeviceStopped. Columns: to the same, and exit.
// Warmup leaves through start and stop, because sources were prepared and must be released.
constexpr Transition kTable[5][6] = {
    {
        kNothing,
        does(Prepare),
        does(Prepare, Start),
        does(Prepare, Start),
        kUnreachable,
        kNothing,
    },
    {
        warns("Incorrect schedule: WARMUP followed by NONE", Start, Stop),
        kNothing,
        does(Start),
        does(Start),
        does(Start, Stop, Ready),
        does(Start, Stop),
    },
    {
        warns("Incorrect schedule: RECORD followed by NONE", Stop),
        warns("Incorrect schedule: RECORD followed by WARMUP", Stop),
        kNothing,
        kNothing,
        does(Stop, Ready),
        does(Stop, Ready),
    },
    {
        does(Stop, Ready),
        does(Stop, Ready, Prepare),
        does(Stop, Ready, Prepare, Start),
        does(Stop, Ready, Prepare, Start),
        kUnreachable,
        does(Stop, Ready),
    },
    {
        kNothing,
        does(Prepare),
        does(Prepare, Start),
        does(Prepare, Start),
        kNothing,
        kNothing,
    },
};

}  // namespace

const Transition& transition(ProfilerAction from, ProfilerAction to) {
  return kTable[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

const Transition& exit_transition(ProfilerAction from) {
  return kTable[static_cast<std::size_t>(from)][kExit];
}

ProfilerAction settle_action(ProfilerAction previous, ProfilerAction previous_scheduled,
                             ProfilerAction scheduled, bool device_stopped) {
  if (previous == ProfilerAction::DeviceStopped) {
    const bool cycle_over =
        previous_scheduled == ProfilerAction::RecordAndSave || scheduled == ProfilerAction::None;
    return cycle_over ? scheduled : ProfilerAction::DeviceStopped;
  }
  const bool in_cycle = previous == ProfilerAction::Warmup || previous == ProfilerAction::Record;
  const bool stops = device_stopped && in_cycle && scheduled != ProfilerAction::None;
  return stops ? ProfilerAction::DeviceStopped : scheduled;
}

}  // namespace sonde
