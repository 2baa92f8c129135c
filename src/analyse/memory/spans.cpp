// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the innermost span around each allocation if the trace does not say it.

#include <algorithm>

#include "analyse/memory/memory_data.h"
#include "base/run_sort.h"

namespace sonde::detail {
namespace {

class SpanFinder {
 public:
  SpanFinder(const Trace& trace, Column<SpanId>& found) : trace_(trace), found_(found) {}

  // `rows` are in time order.
  void run(const AllocationOrder& rows) {
    const std::size_t tracks = trace_.tracks().size();
    at_.assign(tracks, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const AllocationId row = rows[i];
      const TrackId track = trace_.allocations().track[row];
      if (track.valid()) found_.set(row.index(), around(track, trace_.allocations().time_ns[row]));
    }
  }

 private:
  // The last span that has begun, or the first around it that has not ended.
  SpanId around(TrackId track, Nanos time_ns) {
    const IdRange<SpanId> spans = trace_.track_spans(track);
    std::size_t& at = at_[track.index()];
    while (at < spans.size() && trace_.spans().start_ns[spans[at]] <= time_ns) ++at;
    if (at == 0) return {};
    SpanId span = spans[at - 1];
    while (span.valid() && trace_.end_ns(span) < time_ns) span = trace_.spans().parent[span];
    return span;
  }

  const Trace& trace_;
  Column<SpanId>& found_;
  std::vector<std::size_t> at_;  // of each track: spans that have begun
};

}  // namespace

std::shared_ptr<const Column<SpanId>> spans_of_allocations(const Trace& trace,
                                                           const AllocationOrder& in_order) {
  const Column<SpanId>& recorded = trace.allocations().span;
  if (recorded.materialised()) return {std::shared_ptr<const void>(), &recorded};
  auto found = std::make_shared<Column<SpanId>>();
  found->pack();
  found->resize(trace.allocations().size());
  SpanFinder(trace, *found).run(in_order);
  return found;
}

}  // namespace sonde::detail
