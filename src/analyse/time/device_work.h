// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All work of one device in time order, from all streams.

#include <cstdint>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

struct Work {
  Nanos begin_ns;
  Nanos end_ns;
  SpanId span;
};

struct DeviceWork {
  ProcessId process;
  std::int32_t device = 0;
  std::vector<Work> work;  // by begin
};

// Whether it is work, and not a wait that the device lists among its work.
bool keeps_busy(const Trace& trace, SpanId span);

// By process and device. Only devices that worked are listed.
std::vector<DeviceWork> device_work(const Trace& trace);

// Which kernels communicate: those with a collective in the trace, or with a name of NCCL or a
// similar library.
class Communication {
 public:
  explicit Communication(const Trace& trace);
  bool is(SpanId kernel);

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> collectives_;  // rows of spans, sorted
  std::vector<std::uint8_t> by_name_;       // by name: 0 unknown, 1 no, 2 yes
};

}  // namespace sonde::detail
