// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/whole_steps.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyse/flags.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Whether a range of this name began within the step.
bool has_range(const Trace& trace, SpanId step, std::string_view name) {
  const SpanTable& spans = trace.spans();
  const Nanos begin_ns = spans.start_ns[step];
  const Nanos end_ns = trace.end_ns(step);
  const auto rows = trace.track_spans(spans.track[step]);
  for (auto at = rows.size(); at > 0; --at) {
    const SpanId span = rows[at - 1];
    if (spans.start_ns[span] < begin_ns) break;
    if (spans.start_ns[span] < end_ns && trace.name(span) == name) return true;
  }
  return false;
}

// Whether the recording ended the step: from another thread, not at all, or without the range that
// steps are known by.
bool is_cut_short(const Trace& trace, SpanId step, std::string_view rule) {
  constexpr auto kEndedElsewhere = SpanFlags::kAsync | SpanFlags::kUnfinished;
  return (trace.spans().flags[step] & kEndedElsewhere) != 0 || !has_range(trace, step, rule);
}

}  // namespace

std::vector<SpanId> whole_steps(const Trace& trace) {
  const SpanTable& spans = trace.spans();
  std::vector<SpanId> steps;
  std::unordered_map<std::uint32_t, SpanId> last;  // by thread
  for (const SpanId span : trace.all_spans()) {
    if (spans.kind[span] != SpanKind::Step) continue;
    const TrackId track = spans.track[span];
    if (track.valid() && trace.tracks().kind[track] != TrackKind::Thread) continue;
    steps.push_back(span);
    if (!track.valid()) continue;
    const auto [found, is_new] = last.try_emplace(track.value(), span);
    if (!is_new && spans.start_ns[span] >= spans.start_ns[found->second]) found->second = span;
  }
  const std::string rule = metadata_text(trace, kStepsInferredFrom);
  if (rule.empty()) return steps;
  std::erase_if(steps, [&](SpanId step) {
    const auto found = last.find(spans.track[step].value());
    return found != last.end() && found->second == step && is_cut_short(trace, step, rule);
  });
  return steps;
}

}  // namespace sonde::detail
