// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The time that several spans cover together, each moment counted once.
//
//   Coverage busy;
//   busy.add(10, 20);
//   busy.add(15, 30);            // begins must not decrease
//   busy.total_ns() == 20;
//   busy.within_ns(12, 40) == 18;
//
// Stretches that touch are merged. Adding takes constant time, a query takes a bisection.

#include <cstddef>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

class Coverage {
 public:
  struct Stretch {
    Nanos begin_ns;
    Nanos end_ns;
    Nanos before_ns;  // covered by the stretches before it
  };

  void add(Nanos begin_ns, Nanos end_ns) {
    if (!stretches_.empty() && begin_ns <= stretches_.back().end_ns) {
      if (end_ns > stretches_.back().end_ns) stretches_.back().end_ns = end_ns;
      return;
    }
    stretches_.push_back({begin_ns, end_ns, total_ns()});
  }

  // Makes room for so many stretches; memory is taken when they are added.
  void reserve(std::size_t stretches) { stretches_.reserve(stretches); }

  bool empty() const noexcept { return stretches_.empty(); }
  Nanos total_ns() const noexcept {
    if (stretches_.empty()) return 0;
    const Stretch& last = stretches_.back();
    return last.before_ns + last.end_ns - last.begin_ns;
  }
  // How much is covered from `from_ns` to `to_ns`, which must not be earlier.
  Nanos within_ns(Nanos from_ns, Nanos to_ns) const noexcept {
    return until_ns(to_ns) - until_ns(from_ns);
  }
  // Whether a moment is covered.
  bool has(Nanos time_ns) const noexcept;
  const std::vector<Stretch>& stretches() const noexcept { return stretches_; }

 private:
  // How much is covered before a time.
  Nanos until_ns(Nanos time_ns) const noexcept;

  std::vector<Stretch> stretches_;
};

// Answers has() for many moments. Quick while they are near one another.
class CoverageCursor {
 public:
  explicit CoverageCursor(const Coverage& coverage) : stretches_(coverage.stretches()) {}
  bool has(Nanos time_ns) noexcept {
    if (time_ns < from_ns_ || time_ns >= to_ns_) move_to(time_ns);
    return is_covered_;
  }

 private:
  void move_to(Nanos time_ns) noexcept;

  const std::vector<Coverage::Stretch>& stretches_;
  // What is known: all of this time is covered, or none of it.
  Nanos from_ns_ = 0;
  Nanos to_ns_ = 0;
  bool is_covered_ = false;
};

// Collects stretches in any order and makes a Coverage of them.
class Stretches {
 public:
  void add(Nanos begin_ns, Nanos end_ns) { all_.push_back({begin_ns, end_ns, 0}); }
  void add(const Coverage& coverage) {
    all_.insert(all_.end(), coverage.stretches().begin(), coverage.stretches().end());
  }
  std::size_t size() const noexcept { return all_.size(); }
  Coverage united();

 private:
  std::vector<Coverage::Stretch> all_;
};

// How much time both cover.
Nanos overlap_ns(const Coverage& a, const Coverage& b) noexcept;

}  // namespace sonde::detail
