// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/coverage.h"

#include <algorithm>
#include <iterator>

#include "base/run_sort.h"

namespace sonde::detail {

Nanos Coverage::until_ns(Nanos time_ns) const noexcept {
  const auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), time_ns,
                       [](Nanos time, const Stretch& stretch) { return time < stretch.begin_ns; });
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
