// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The host's side of device work: which call launched it, and when the host waited for a device.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyse/time/launches.h"
#include "sonde/trace.h"

namespace sonde::detail {

// Kernels, copies and fills.
bool is_device_work(SpanKind kind) noexcept;
// A call of a device's runtime or driver.
bool is_device_call(SpanKind kind) noexcept;

class HostCalls {
 public:
  explicit HostCalls(const Trace& trace);

  // The call behind device work, else the operator (analyse/launches.h); invalid: not known.
  SpanId launch_of(SpanId work) const noexcept;
  // A call in which some thread of the process waited for a device at that time; of several the one
  // that went on longest. Invalid: nobody waited.
  SpanId wait_at(ProcessId process, Nanos time_ns) const noexcept;
  // All calls that waited, grouped by process.
  std::vector<SpanId> waits() const;

 private:
  struct Wait {
    std::uint32_t process;
    Nanos begin_ns;
    SpanId span;
    SpanId longest;  // of those of its process up to here, the one that ends last
  };

  std::uint32_t process_of(SpanId span) const noexcept;
  void collect_waits();
  void mark_blocking_copies(std::vector<std::uint32_t>& waiting) const;

  const Trace& trace_;
  std::vector<Launch> launches_;  // by work
  std::vector<Wait> waits_;       // by process and begin
};

}  // namespace sonde::detail
