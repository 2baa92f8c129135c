// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/op_runs.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace sonde::detail {
namespace {

constexpr std::size_t kLongestPeriod = 16;
constexpr std::size_t kLeastRepeats = 10;

// Walks through one thread's spans, outer ones first, with a list for each open level.
class SiblingLists {
 public:
  SiblingLists(const Trace& trace, const std::function<void(std::span<const SpanId>)>& visit)
      : trace_(trace), visit_(visit) {}

  void run(TrackId thread) {
    open(SpanId());
    for (const SpanId span : trace_.track_spans(thread)) add(span);
    while (depth_ > 0) close();
  }

 private:
  struct Level {
    SpanId parent;
    std::vector<SpanId> ops;
  };

  void open(SpanId parent) {
    if (depth_ == levels_.size()) levels_.emplace_back();
    levels_[depth_].parent = parent;
    levels_[depth_].ops.clear();
    ++depth_;
  }
  void close() {
    --depth_;
    if (!levels_[depth_].ops.empty()) visit_(levels_[depth_].ops);
  }

  void add(SpanId span) {
    const SpanTable& spans = trace_.spans();
    if ((spans.flags[span] & SpanFlags::kAsync) != 0) return;
    while (depth_ > 1 && trace_.end_ns(levels_[depth_ - 1].parent) <= spans.start_ns[span]) close();
    const SpanKind kind = spans.kind[span];
    if (kind == SpanKind::CpuOp) levels_[depth_ - 1].ops.push_back(span);
    if (kind != SpanKind::PythonFunction) open(span);
  }

  const Trace& trace_;
  const std::function<void(std::span<const SpanId>)>& visit_;
  std::vector<Level> levels_;  // those after `depth_` are kept for their memory
  std::size_t depth_ = 0;
};

// How far away the next operator with the same name is, for each; at most kLongestPeriod + 1.
std::vector<std::uint8_t> next_alike(const std::vector<StringId>& names) {
  constexpr std::size_t kFar = kLongestPeriod + 1;
  std::vector<std::uint8_t> next(names.size(), kFar);
  std::unordered_map<std::uint32_t, std::size_t> last;  // by name
  for (std::size_t at = names.size(); at-- > 0;) {
    const auto [found, is_new] = last.try_emplace(names[at].value(), at);
    if (!is_new) next[at] = static_cast<std::uint8_t>(std::min(kFar, found->second - at));
    found->second = at;
  }
  return next;
}

// How many names, from the first on, equal the name `period` positions before.
std::size_t repeated(const std::vector<StringId>& names, std::size_t first, std::size_t period) {
  std::size_t at = first + period;
  while (at < names.size() && names[at] == names[at - period]) ++at;
  return at - first;
}

}  // namespace

void visit_siblings(const Trace& trace, const std::function<void(std::span<const SpanId>)>& visit) {
  SiblingLists lists(trace, visit);
  for (std::size_t row = 0; row < trace.tracks().size(); ++row)
    if (trace.tracks().kind[row] == TrackKind::Thread) lists.run(TrackId(row));
}

std::vector<OpRun> op_runs(const Trace& trace, std::span<const SpanId> siblings) {
  std::vector<OpRun> runs;
  if (siblings.size() < kLeastRepeats) return runs;
  std::vector<StringId> names;
  names.reserve(siblings.size());
  for (const SpanId op : siblings) names.push_back(trace.spans().name[op]);
  const std::vector<std::uint8_t> next = next_alike(names);
  for (std::size_t first = 0; first + kLeastRepeats <= names.size();) {
    std::size_t length = 0;
    for (std::size_t period = next[first]; period <= kLongestPeriod && length == 0; ++period) {
      if (first + period * kLeastRepeats > names.size()) break;
      const std::size_t whole = repeated(names, first, period) / period * period;
      if (whole / period < kLeastRepeats) continue;
      runs.push_back({siblings.subspan(first, whole), period});
      length = whole;
    }
    first += length > 0 ? length : 1;
  }
  return runs;
}

}  // namespace sonde::detail
