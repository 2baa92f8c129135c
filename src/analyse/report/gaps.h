// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Gaps of devices, and the threads whose launches ended them.

#include <algorithm>

#include "analyse/time/coverage.h"
#include "sonde/analyse/report.h"

namespace sonde::detail {

// Gaps in a part of the trace, as visit(gap, begin, end).
template <typename Visit>
void for_gaps(const Coverage& part, const Report& report, Visit visit) {
  for (const DeviceTime& device : report.devices) {
    for (const DeviceGap& gap : device.gaps) {
      const Nanos within_ns = part.within_ns(gap.begin_ns, gap.end_ns);
      if (within_ns > 0) visit(gap, gap.end_ns - within_ns, gap.end_ns);
    }
  }
}

// When the wait with which the gap began was over.
inline Nanos wait_end_ns(const Trace& trace, const DeviceGap& gap) {
  return gap.wait.valid() ? std::clamp(trace.end_ns(gap.wait), gap.begin_ns, gap.end_ns)
                          : gap.begin_ns;
}

inline TrackId launching_thread(const Trace& trace, const DeviceGap& gap) {
  const SpanId launch = trace.spans().launch[gap.after];
  return launch.valid() ? trace.spans().track[launch] : TrackId();
}

// When the work that ended the gap was launched.
inline Nanos launch_ns(const Trace& trace, const DeviceGap& gap, Nanos from_ns) {
  const SpanId launch = trace.spans().launch[gap.after];
  return std::clamp(trace.spans().start_ns[launch], from_ns, std::max(from_ns, gap.end_ns));
}

inline TrackId stream_of(const Trace& trace, const DeviceGap& gap) {
  return trace.spans().track[gap.after];
}

}  // namespace sonde::detail
