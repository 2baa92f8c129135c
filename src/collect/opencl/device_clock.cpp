// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/opencl/device_clock.h"

#include <algorithm>

namespace sonde {

namespace {

// Two clocks drift apart by at most one nanosecond in this many: 20 parts in a million.
constexpr std::int64_t kDriftParts = 50'000;

}  // namespace

void DeviceClock::see(std::int64_t before_ns, std::int64_t device_ns, std::int64_t after_ns) {
  if (after_ns < before_ns) return;
  const std::int64_t least = device_ns - after_ns;
  const std::int64_t most = device_ns - before_ns;
  // Moments may arrive in any order.
  const std::int64_t drift = std::max<std::int64_t>(0, after_ns - last_seen_ns_) / kDriftParts + 1;
  const std::int64_t both_least = std::max(least, least_ns_ - drift);
  const std::int64_t both_most = std::min(most, most_ns_ + drift);
  last_seen_ns_ = std::max(last_seen_ns_, after_ns);
  // If a clock has jumped, earlier bounds are useless.
  const bool agrees = is_known_ && both_least <= both_most;
  least_ns_ = agrees ? both_least : least;
  most_ns_ = agrees ? both_most : most;
  is_known_ = true;
}

std::int64_t DeviceClock::to_host_ns(std::int64_t device_ns) const {
  return device_ns - (least_ns_ + (most_ns_ - least_ns_) / 2);
}

std::int64_t DeviceClock::error_ns() const {
  return (most_ns_ - least_ns_ + 1) / 2;
}

}  // namespace sonde
