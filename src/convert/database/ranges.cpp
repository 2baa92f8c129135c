// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/database/ranges.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace sonde {

namespace {

std::vector<std::uint32_t> in_order(std::span<const TimeRange> stretches) {
  std::vector<std::uint32_t> order(stretches.size());
  std::iota(order.begin(), order.end(), 0U);
  // Longer ranges first: if two begin together, the longer one is the outer one.
  const auto key = [&](std::uint32_t i) {
    return std::make_tuple(stretches[i].line, stretches[i].start_ns, -stretches[i].end_ns);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return order;
}

// The ranges of one line that have begun, the latest last.
class OpenRanges {
 public:
  explicit OpenRanges(std::span<const TimeRange> ranges) : ranges_(ranges) {}

  void open(std::uint32_t range) { open_.push_back(range); }
  void clear() { open_.clear(); }

  std::uint32_t innermost(const TimeRange& call) {
    // Ranges of one thread nest, so the last one is the innermost. Ranges of several threads may
    // overlap freely; only this many of them are tried.
    constexpr int kMostLooks = 64;
    std::size_t at = open_.size();
    for (int looks = 0; at > 0 && looks < kMostLooks;) {
      const std::uint32_t range = open_[--at];
      if (ranges_[range].end_ns <= call.start_ns) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));  // over for later calls too
        continue;
      }
      if (ranges_[range].end_ns > call.end_ns) return range;
      ++looks;
    }
    return kNoRange;
  }

 private:
  std::span<const TimeRange> ranges_;
  std::vector<std::uint32_t> open_;
};

}  // namespace

std::vector<std::uint32_t> innermost_ranges(std::span<const TimeRange> ranges,
                                            std::span<const TimeRange> calls) {
  std::vector<std::uint32_t> found(calls.size(), kNoRange);
  const std::vector<std::uint32_t> range_order = in_order(ranges);
  OpenRanges open(ranges);
  std::size_t next = 0;
  std::uint32_t line = 0;
  for (const std::uint32_t i : in_order(calls)) {
    const TimeRange& call = calls[i];
    if (call.line != line) open.clear();
    line = call.line;
    for (; next < range_order.size(); ++next) {
      const TimeRange& range = ranges[range_order[next]];
      if (range.line > line || (range.line == line && range.start_ns >= call.start_ns)) break;
      if (range.line == line) open.open(range_order[next]);
    }
    found[i] = open.innermost(call);
  }
  return found;
}

}  // namespace sonde
