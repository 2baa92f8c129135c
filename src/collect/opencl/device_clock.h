// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Converts times of a device's clock to the host's, from moments that both saw: the device read its
// clock between two reads of the host's. Each such moment bounds the offset of the clocks, and many
// together bound it well. The bounds widen as time passes, which allows for drift.
//
//   clock.see(before_ns, queued_on_device_ns, after_ns);
//   const std::int64_t start_ns = clock.to_host_ns(start_on_device_ns);

#include <cstdint>

namespace sonde {

class DeviceClock {
 public:
  // Both clocks count nanoseconds, from any starting point.
  void see(std::int64_t before_ns, std::int64_t device_ns, std::int64_t after_ns);
  // The best estimate so far; the device's own time if nothing is known.
  std::int64_t to_host_ns(std::int64_t device_ns) const;
  // How far off that may be.
  std::int64_t error_ns() const;

 private:
  bool is_known_ = false;
  std::int64_t least_ns_ = 0;  // the device's time minus the host's
  std::int64_t most_ns_ = 0;
  std::int64_t last_seen_ns_ = 0;
};

}  // namespace sonde
