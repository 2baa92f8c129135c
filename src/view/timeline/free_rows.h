// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which rows of a track are free at a time, while its spans are placed in the order of their start.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// Rows beyond this share the last one, in which spans may then overlap.
inline constexpr std::uint32_t kMostRows = 65'535;

class FreeRows {
 public:
  // Takes the first row from `first` on whose spans have ended by `begin_ns`.
  std::uint32_t take(std::uint32_t first, Nanos begin_ns, Nanos end_ns) {
    const std::uint32_t row = std::min(find(first, begin_ns), kMostRows - 1);
    if (row >= ends_.size()) grow(row);
    ends_[row] = std::max(ends_[row], end_ns);
    update_block(row);
    return row;
  }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(ends_.size()); }

 private:
  static constexpr std::uint32_t kBlock = 64;

  std::uint32_t find(std::uint32_t row, Nanos begin_ns) const {
    while (row < ends_.size() && ends_[row] > begin_ns) {
      ++row;
      while (row % kBlock == 0 && row < ends_.size() && earliest_[row / kBlock] > begin_ns)
        row += kBlock;
    }
    return row;
  }
  void grow(std::uint32_t row) {
    ends_.resize(row + 1, std::numeric_limits<Nanos>::min());
    earliest_.resize(row / kBlock + 1, std::numeric_limits<Nanos>::min());
  }
  // Only blocks that are full are skipped, so that a free row is never missed.
  void update_block(std::uint32_t row) {
    const std::uint32_t first = row / kBlock * kBlock;
    if (first == 0 || first + kBlock > ends_.size()) return;
    const auto begin = ends_.begin() + first;
    earliest_[row / kBlock] = *std::min_element(begin, begin + kBlock);
  }

  std::vector<Nanos> ends_;
  std::vector<Nanos> earliest_;  // of each block of rows
};

}  // namespace sonde::detail
