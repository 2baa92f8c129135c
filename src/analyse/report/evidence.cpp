// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/evidence.h"

#include <algorithm>
#include <map>
#include <string>

#include "analyse/report/findings.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"
#include "sonde/analyse/patterns.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostGroups = 5;
constexpr std::size_t kMostMoments = 8;
// Smaller groups say nothing.
constexpr double kLeastOfAll = 0.02;

}  // namespace

void Evidence::add(SpanId cause, TrackId track, Nanos begin_ns, Nanos end_ns) {
  const Nanos length_ns = end_ns - begin_ns;
  const StringId name = cause.valid() ? data_.trace.spans().name[cause] : StringId();
  Group& group = groups_[name.value()];
  add_to(group.time_ns, length_ns);
  ++group.count;
  if (length_ns > group.worst_ns) {
    group.worst = cause;
    group.worst_ns = length_ns;
  }
  moments_.push_back({cause, track, begin_ns, end_ns});
  add_to(total_ns_, length_ns);
  if (cause.valid() && is_device_work(data_.trace.spans().kind[cause]))
    add_to(device_ns_, length_ns);
  longest_ns_ = std::max(longest_ns_, length_ns);
}

std::string Evidence::lengths() const {
  if (count() == 1) return "once, for " + duration_text(total_ns_);
  return format_text("{}, {} in total, {} at most", times_text(count()), duration_text(total_ns_),
                     duration_text(longest_ns_));
}

Nanos Evidence::time_ns_of(bool (*wanted)(std::string_view)) const {
  Nanos sum_ns = 0;
  for (const auto& [name, group] : groups_)
    if (group.worst.valid() && wanted(data_.trace.name(group.worst))) add_to(sum_ns, group.time_ns);
  return sum_ns;
}

std::string Evidence::name_of(SpanId cause) const {
  return cause.valid() ? without_addresses(data_.trace.name(cause)) : std::string(kOutsideSpans);
}

void Evidence::fill(Finding& finding) {
  finding.count = count();
  std::map<std::string, Group> by_name;  // names that differ by an address are one
  for (const auto& [name, group] : groups_) {
    Group& sum = by_name[name_of(group.worst)];
    add_to(sum.time_ns, group.time_ns);
    sum.count += group.count;
    if (group.worst_ns < sum.worst_ns) continue;
    sum.worst = group.worst;
    sum.worst_ns = group.worst_ns;
  }
  std::vector<const Group*> groups;
  groups.reserve(by_name.size());
  for (const auto& [name, group] : by_name) groups.push_back(&group);
  std::sort(groups.begin(), groups.end(), [](const Group* a, const Group* b) {
    return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->worst < b->worst;
  });
  for (const Group* const group : groups) {
    const double share = static_cast<double>(group->time_ns) / static_cast<double>(total_ns_ + 1);
    if (finding.groups.size() >= kMostGroups || share < kLeastOfAll) break;
    const std::string place = group->worst.valid() ? data_.source_location(group->worst) : "";
    finding.groups.push_back({name_of(group->worst), place, group->time_ns, group->count});
  }
  const std::size_t shown = std::min(moments_.size(), kMostMoments);
  std::partial_sort(moments_.begin(), moments_.begin() + static_cast<std::ptrdiff_t>(shown),
                    moments_.end(), [](const Moment& a, const Moment& b) {
                      const Nanos a_ns = a.end_ns - a.begin_ns;
                      const Nanos b_ns = b.end_ns - b.begin_ns;
                      return a_ns != b_ns ? a_ns > b_ns : a.begin_ns < b.begin_ns;
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    const Moment& one = moments_[i];
    finding.moments.push_back({one.track, one.begin_ns, one.end_ns, name_of(one.cause)});
    if (one.cause.valid()) finding.spans.push_back(one.cause);
  }
}

SpanId innermost_at(const Trace& trace, TrackId thread, Nanos time_ns) {
  const SpanTable& spans = trace.spans();
  const IdRange<SpanId> rows = trace.track_spans(thread);
  std::uint32_t low = rows.empty() ? 0 : rows[0].value();
  const std::uint32_t first = low;
  for (std::uint32_t high = low + static_cast<std::uint32_t>(rows.size()); low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (spans.start_ns[middle] <= time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  SpanId at = low == first ? SpanId() : SpanId(low - 1);
  while (at.valid() && (trace.end_ns(at) <= time_ns || spans.kind[at] == SpanKind::Step))
    at = spans.parent[at];
  return at;
}

SpanId outermost_operator(const Trace& trace, SpanId span) {
  SpanId found = span;
  for (SpanId at = span; at.valid(); at = trace.spans().parent[at])
    if (trace.spans().kind[at] == SpanKind::CpuOp) found = at;
  return found;
}

}  // namespace sonde::detail
