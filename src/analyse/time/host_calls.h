// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// When the host waited for a device.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

class HostCalls {
 public:
  explicit HostCalls(const Trace& trace);

  // A call in which a thread of the process waited for a device at that time; of several, the one
  // that ended last. Invalid if none waited.
  SpanId wait_at(ProcessId process, Nanos time_ns) const noexcept;
  // All calls that waited, grouped by process.
  std::vector<SpanId> waits() const;

 private:
  struct Wait {
    std::uint32_t process;
    Nanos begin_ns;
    SpanId span;
    SpanId longest;  // of its process so far, the one that ends last
  };

  std::uint32_t process_of(SpanId span) const noexcept;
  void collect_waits();
  void mark_blocking_copies(std::vector<std::uint32_t>& waiting) const;
  void mark_full_queues(std::vector<std::uint32_t>& waiting) const;

  const Trace& trace_;
  std::vector<Wait> waits_;  // by process and begin
};

}  // namespace sonde::detail
