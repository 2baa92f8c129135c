// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/copies.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/sum.h"

namespace sonde {
namespace {

// Smaller ones are just numbers to be printed.
constexpr std::int64_t kLeastReturnedBytes = 4096;

class CopyMaker {
 public:
  explicit CopyMaker(const Trace& trace) : trace_(trace) {}

  CopyTimes make() {
    for (const std::size_t row : rows_in_time()) add(row);
    out_.totals.reserve(totals_.size());
    for (const auto& [key, total] : totals_) out_.totals.push_back(total);
    std::stable_sort(
        out_.totals.begin(), out_.totals.end(),
        [](const CopyTotal& a, const CopyTotal& b) { return a.device_ns > b.device_ns; });
    return std::move(out_);
  }

 private:
  std::vector<std::size_t> rows_in_time() const {
    const CopyTable& copies = trace_.copies();
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < copies.size(); ++row) {
      const SpanId span = copies.span[row];
      if (span.valid() && trace_.spans().kind[span] == SpanKind::GpuMemcpy) rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return trace_.spans().start_ns[copies.span[a]] < trace_.spans().start_ns[copies.span[b]];
    });
    return rows;
  }

  void add(std::size_t row) {
    const CopyTable& copies = trace_.copies();
    const SpanId span = copies.span[row];
    CopyTotal& total =
        totals_[{copies.kind[row], copies.source_kind[row], copies.destination_kind[row]}];
    total.kind = copies.kind[row];
    total.source = copies.source_kind[row];
    total.destination = copies.destination_kind[row];
    ++total.count;
    const std::int64_t bytes = std::max<std::int64_t>(copies.bytes[row], 0);
    detail::add_to(total.bytes, bytes);
    detail::add_to(total.device_ns, trace_.spans().duration_ns[span]);
    const bool is_pageable =
        total.source == MemoryKind::Pageable || total.destination == MemoryKind::Pageable;
    const CopyTime copy{span, bytes, seen_by_host_ns(span), {}};
    if (is_pageable) out_.pageable.push_back(copy);
    match(total, copy);
  }

  Nanos seen_by_host_ns(SpanId span) const {
    const SpanId launch = trace_.spans().launch[span];
    const Nanos begin_ns = trace_.spans().start_ns[span];
    const bool has_call = launch.valid() && is_call(trace_.spans().kind[launch]);
    const Nanos call_end_ns = has_call ? trace_.end_ns(launch) : begin_ns;
    return std::max(trace_.end_ns(span), call_end_ns) - begin_ns;
  }

  void match(const CopyTotal& total, const CopyTime& copy) {
    if (copy.bytes < kLeastReturnedBytes) return;
    if (total.kind == CopyKind::DtoH) on_host_[{copy.bytes, total.destination}].push_back(copy);
    if (total.kind != CopyKind::HtoD) return;
    const auto came = on_host_.find({copy.bytes, total.source});
    if (came == on_host_.end() || came->second.empty()) return;
    CopyTime both = copy;
    detail::add_to(both.time_ns, came->second.back().time_ns);
    both.earlier = came->second.back().span;
    out_.returned.push_back(both);
    came->second.pop_back();
  }

  const Trace& trace_;
  std::map<std::tuple<CopyKind, MemoryKind, MemoryKind>, CopyTotal> totals_;
  // Arrivals, by bytes and the kind of memory: what arrived in one kind does not leave from
  // another.
  std::map<std::pair<std::int64_t, MemoryKind>, std::vector<CopyTime>> on_host_;
  CopyTimes out_;
};

}  // namespace

std::string to_string(const CopyTotal& total) {
  std::string text(to_string(total.kind));
  const bool is_known =
      total.source != MemoryKind::Unknown || total.destination != MemoryKind::Unknown;
  if (!is_known) return text;
  return text + ", " + std::string(to_string(total.source)) + " to " +
         std::string(to_string(total.destination));
}

CopyTimes copy_times(const Trace& trace) {
  return CopyMaker(trace).make();
}

}  // namespace sonde
