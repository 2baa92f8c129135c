// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a finding was seen in: times, added up by what was going on.
//
//   Evidence seen(data);
//   seen.add(cause, track, gap.begin_ns, gap.end_ns);
//   seen.fill(finding);        // count, groups, moments

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/report/report_data.h"
#include "sonde/analyse/report.h"

namespace sonde::detail {

// Where the program has no name for what it did.
inline constexpr std::string_view kOutsideSpans = "outside all spans";

class Evidence {
 public:
  explicit Evidence(const ReportData& data) : data_(data) {}

  // `cause` names what was going on; invalid: nothing that has a name.
  void add(SpanId cause, TrackId track, Nanos begin_ns, Nanos end_ns);
  std::uint64_t count() const noexcept { return moments_.size(); }
  Nanos total_ns() const noexcept { return total_ns_; }
  Nanos longest_ns() const noexcept { return longest_ns_; }
  bool empty() const noexcept { return moments_.empty(); }
  // The part of it that is device work.
  double device_share() const noexcept {
    return total_ns_ > 0 ? static_cast<double>(device_ns_) / static_cast<double>(total_ns_) : 0;
  }
  // Of causes with such names.
  Nanos time_ns_of(bool (*wanted)(std::string_view)) const;

  // "12 times, 3.2 ms in total, 0.5 ms at most"
  std::string lengths() const;
  void fill(Finding& finding);

 private:
  struct Group {
    Nanos time_ns = 0;
    std::uint64_t count = 0;
    SpanId worst;
    Nanos worst_ns = -1;
  };
  struct Moment {
    SpanId cause;
    TrackId track;
    Nanos begin_ns;
    Nanos end_ns;
  };

  std::string name_of(SpanId cause) const;

  const ReportData& data_;
  std::unordered_map<std::uint32_t, Group> groups_;  // by name
  std::vector<Moment> moments_;
  Nanos total_ns_ = 0;
  Nanos device_ns_ = 0;
  Nanos longest_ns_ = 0;
};

// The innermost span of a thread at a time; steps are none. Invalid: there is none.
SpanId innermost_at(const Trace& trace, TrackId thread, Nanos time_ns);
// The outermost operator around a span, else the span.
SpanId outermost_operator(const Trace& trace, SpanId span);

}  // namespace sonde::detail
