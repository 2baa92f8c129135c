// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What each device did with its time: busy, or idle and why.
//
//   for (const DeviceTime& device : device_times(trace)) {
//     std::cout << device.device << " busy " << device.busy_ns << " of " << device.extent_ns();
//   }
//
// A device is busy while at least one kernel, copy, fill or other work runs on any of its streams;
// overlaps count once. Its time lasts from the first of them to the last. For every device, busy +
// idle == extent. The causes of idle time add up to it, and so do the gaps.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

// Why nothing ran, judged by what ran next. These are HTA's three causes, in its order.
enum class IdleCause : std::uint8_t {
  HostWait,    // it was launched when the device was already idle
  KernelWait,  // it was launched in time and began within 30 us: the device's own delay
  Other,       // it was launched in time and waited for something else, or its launch is not known
};
inline constexpr std::size_t kIdleCauses = 3;
std::string_view to_string(IdleCause cause) noexcept;  // "host wait", …

// What the host did in a gap of IdleCause::HostWait.
enum class HostDoing : std::uint8_t {
  Communicated,      // with other ranks, on a separate thread, for most of the gap
  HadWaited,         // it was still in the call in which it had waited for the device
  InOperators,       // the launching thread was in operators or device calls
  OutsideOperators,  // it was in other code of the program
};
inline constexpr std::size_t kHostDoings = 4;

struct DeviceGap {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  IdleCause cause = IdleCause::Other;
  HostDoing host = HostDoing::InOperators;      // only of HostWait: what took most of it
  std::array<Nanos, kHostDoings> host_doing{};  // the parts of a HostWait; they add up to it
  SpanId after;                                 // the work that ended it
  SpanId wait;  // the call in which the host waited when the gap began

  Nanos length_ns() const noexcept { return end_ns - begin_ns; }
};

// Work of one kind, and the time in which at least one item of it ran.
struct WorkTime {
  std::uint64_t count = 0;
  Nanos union_ns = 0;
};

// One device of one process.
struct DeviceTime {
  ProcessId process;
  std::int32_t device = 0;
  Nanos begin_ns = 0;  // of the first work
  Nanos end_ns = 0;    // of the last work
  Nanos busy_ns = 0;
  Nanos idle_ns = 0;
  std::array<Nanos, kIdleCauses> idle_by_cause{};
  std::array<Nanos, kHostDoings> host_wait_by_doing{};  // these add up to the host wait
  WorkTime compute;                                     // kernels that do not communicate
  WorkTime communication;                               // collectives
  WorkTime memory;                                      // copies and fills
  WorkTime other;                                       // work about which the trace says no more
  Nanos communication_hidden_ns = 0;                    // while kernels computed
  Nanos memory_hidden_ns = 0;                           // while kernels computed
  std::vector<DeviceGap> gaps;                          // in time order

  Nanos extent_ns() const noexcept { return end_ns - begin_ns; }
  Nanos idle_of(IdleCause cause) const noexcept {
    return idle_by_cause[static_cast<std::size_t>(cause)];
  }
  Nanos host_wait_of(HostDoing doing) const noexcept {
    return host_wait_by_doing[static_cast<std::size_t>(doing)];
  }
};

// By process and device; empty if no device worked.
std::vector<DeviceTime> device_times(const Trace& trace);

}  // namespace sonde
