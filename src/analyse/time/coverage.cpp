// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/coverage.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/run_sort.h"

namespace sonde::detail {
namespace {

// The first stretch that begins after a time.
std::vector<Coverage::Stretch>::const_iterator first_after(
    const std::vector<Coverage::Stretch>& stretches, Nanos time_ns) noexcept {
  return std::upper_bound(
      stretches.begin(), stretches.end(), time_ns,
      [](Nanos time, const Coverage::Stretch& stretch) { return time < stretch.begin_ns; });
}

}  // namespace

bool Coverage::has(Nanos time_ns) const noexcept {
  const auto after = first_after(stretches_, time_ns);
  return after != stretches_.begin() && time_ns < std::prev(after)->end_ns;
}

void CoverageCursor::move_to(Nanos time_ns) noexcept {
  const auto after = first_after(stretches_, time_ns);
  from_ns_ = std::numeric_limits<Nanos>::min();
  to_ns_ = after != stretches_.end() ? after->begin_ns : std::numeric_limits<Nanos>::max();
  is_covered_ = after != stretches_.begin() && time_ns < std::prev(after)->end_ns;
  if (after == stretches_.begin()) return;
  from_ns_ = is_covered_ ? std::prev(after)->begin_ns : std::prev(after)->end_ns;
  if (is_covered_) to_ns_ = std::prev(after)->end_ns;
}

Nanos Coverage::until_ns(Nanos time_ns) const noexcept {
  const auto after = first_after(stretches_, time_ns);
  if (after == stretches_.begin()) return 0;
  const Stretch& last = *std::prev(after);
  return last.before_ns + std::min(time_ns, last.end_ns) - last.begin_ns;
}

Coverage Stretches::united() {
  run_sort(all_, [](const Coverage::Stretch& a, const Coverage::Stretch& b) {
    return a.begin_ns < b.begin_ns;
  });
  Coverage out;
  for (const Coverage::Stretch& one : all_) out.add(one.begin_ns, one.end_ns);
  return out;
}

Nanos overlap_ns(const Coverage& a, const Coverage& b) noexcept {
  Nanos both_ns = 0;
  auto left = a.stretches().begin();
  auto right = b.stretches().begin();
  while (left != a.stretches().end() && right != b.stretches().end()) {
    both_ns += std::max<Nanos>(
        0, std::min(left->end_ns, right->end_ns) - std::max(left->begin_ns, right->begin_ns));
    (left->end_ns < right->end_ns ? left : right)++;
  }
  return both_ns;
}

}  // namespace sonde::detail
