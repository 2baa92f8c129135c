// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/plan.h"

#include <algorithm>
#include <charconv>

#include "trace/known_names.h"

namespace sonde {

namespace {

// Small enough that a few blocks in flight take little memory, large enough to compress well.
constexpr std::uint32_t kSpansPerBlock = 8192;
constexpr std::size_t kPointsPerBlock = 16384;

// Three average months. Kineto rounds the time of a recording down to a multiple of this, so that
// the rest fits into a double.
constexpr std::int64_t kBaseStepNs = 7'889'238LL * 1'000'000'000;

std::int64_t find_base(const Trace& trace) {
  const std::string_view text = trace.string(find_metadata(trace, "baseTimeNanoseconds"));
  std::int64_t base = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), base);
  const bool is_integer = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  constexpr std::int64_t kLimit = std::int64_t{1} << 61;  // close enough to all times of a Trace
  if (is_integer && base >= -kLimit && base <= kLimit) return base;
  const std::int64_t steps = trace.first_ns() / kBaseStepNs;
  return (trace.first_ns() < 0 ? steps - 1 : steps) * kBaseStepNs;
}

std::vector<std::uint32_t> find_async(const Trace& trace) {
  std::vector<std::uint32_t> rows;
  if (!trace.spans().kind.materialised() && !trace.spans().flags.materialised()) return rows;
  for (const SpanId span : trace.all_spans()) {
    if (is_async(trace.spans(), span.index())) rows.push_back(span.value());
  }
  return rows;
}

// Cuts the spans and points of one track into blocks. A point goes after the spans that start at or
// before it.
class TrackCutter {
 public:
  TrackCutter(const Trace& trace, std::size_t track, std::span<const Point> points,
              std::vector<EventBlock>& blocks)
      : trace_(trace), track_(track), points_(points), blocks_(blocks) {}

  void cut(IdRange<SpanId> spans) {
    for (std::size_t first = 0; first < spans.size(); first += kSpansPerBlock) {
      const std::size_t last = std::min<std::size_t>(first + kSpansPerBlock, spans.size());
      const bool is_last = last == spans.size();
      add(spans[first], spans[last],
          is_last ? points_.size() : points_before(trace_.spans().start_ns[spans[last]]));
    }
    if (spans.empty()) add(SpanId(0), SpanId(0), points_.size());
  }

 private:
  std::size_t points_before(Nanos time) const {
    const auto at =
        std::lower_bound(points_.begin(), points_.end(), time,
                         [](const Point& point, Nanos limit) { return point.time_ns < limit; });
    return static_cast<std::size_t>(at - points_.begin());
  }

  // Adds spans with the points up to `end`. If there are many points, the last of them go into
  // blocks of their own, once no span can come between them.
  void add(SpanId first, SpanId last, std::size_t end) {
    std::size_t with_spans = end;
    if (end - done_ > kPointsPerBlock) {
      with_spans = done_ + kPointsPerBlock;
      if (last.value() > first.value()) {
        const Nanos last_start = trace_.spans().start_ns[SpanId(last.value() - 1)];
        with_spans = std::clamp(points_before(last_start), with_spans, end);
      }
    }
    push(first, last, with_spans);
    while (done_ < end) push(last, last, std::min(end, done_ + kPointsPerBlock));
  }

  void push(SpanId first, SpanId last, std::size_t end) {
    if (first == last && end == done_) return;
    blocks_.push_back({track_, first, last, points_.subspan(done_, end - done_)});
    done_ = end;
  }

  const Trace& trace_;
  std::size_t track_;
  std::span<const Point> points_;
  std::vector<EventBlock>& blocks_;
  std::size_t done_ = 0;
};

}  // namespace

ExtraJoin::ExtraJoin(const ExtraTable& extras, TableKind of_table) {
  for (std::size_t i = 0; i < extras.size(); ++i) {
    if (extras.of_table[i] != of_table || extras.of_row.is_null_at(i)) continue;
    owners_.emplace_back(extras.of_row[i]);
    rows_.push_back(static_cast<std::uint32_t>(i));
  }
  join_ = SpanJoin(owners_.data(), owners_.size());
}

void ExtraJoin::find(std::uint32_t row, std::vector<ExtraId>& found) const {
  found.clear();
  if (rows_.empty()) return;
  Cursor cursor(*this, row);
  while (cursor.has(row)) found.push_back(cursor.take());
}

StringId find_metadata(const Trace& trace, std::string_view key) {
  for (std::size_t i = 0; i < trace.metadata().size(); ++i) {
    if (trace.string(trace.metadata().key[i]) == key) return trace.metadata().value[i];
  }
  return {};
}

KinetoPlan::KinetoPlan(const Trace& source)
    : trace(source),
      base_ns(find_base(source)),
      has_overloads_in_names(find_metadata(source, kOverloadsInNamesKey).valid()),
      strings(source),
      lanes(source),
      identity(source, strings, lanes.counts()),
      derived_flows(source.flows().empty() ? launch_flows(source) : FlowTable()),
      flows(source.flows().empty() ? derived_flows : source.flows()),
      points(source, flows),
      kernels(source.kernels().span),
      copies(source.copies().span),
      api_calls(source.api_calls().span),
      syncs(source.syncs().span),
      collectives(source.collectives().span),
      python_calls(source.python_calls().span),
      flows_from(flows.from_span),
      flows_to(flows.to_span),
      span_extras(source.extras(), TableKind::Spans),
      allocation_extras(source.extras(), TableKind::Allocations),
      instant_extras(source.extras(), TableKind::Instants),
      counter_extras(source.extras(), TableKind::Counters),
      flow_extras(source.extras(), TableKind::Flows),
      async_spans(find_async(source)) {
  std::string scratch;
  arguments.fill(trace.spans().arguments, trace.argument_lists().size(),
                 [&](TextBuffer& out, ArgumentListId list) {
                   append_arguments(out, trace, strings, list, scratch);
                 });
  stacks.fill(trace.spans().stack, trace.stacks().size(), [&](TextBuffer& out, StackId stack) {
    append_stack(out, trace, strings, stack, scratch);
  });
  modules.fill(trace.spans().module, trace.modules().size(), [&](TextBuffer& out, ModuleId module) {
    append_module(out, trace, strings, module, scratch);
  });
}

std::vector<EventBlock> KinetoPlan::blocks() const {
  std::vector<EventBlock> blocks;
  const std::size_t tracks = trace.tracks().size();
  for (std::size_t track = 0; track <= tracks; ++track) {
    const IdRange<SpanId> spans = trace.track_spans(track < tracks ? TrackId(track) : TrackId());
    TrackCutter(trace, track, points.of(track), blocks).cut(spans);
  }
  return blocks;
}

}  // namespace sonde
