// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/report/loading.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace sonde::detail {
namespace {

constexpr std::array<std::string_view, 8> kLoading = {"dataloader", "data_loader", "data loading",
                                                      "load_data",  "load_batch",  "load batch",
                                                      "next_batch", "get_batch"};

bool loads_data(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kLoading.begin(), kLoading.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// Which spans are the program's marks for loading data.
class LoadingMarks {
 public:
  explicit LoadingMarks(const Trace& trace) : trace_(trace) {
    const StringPool& strings = trace.strings();
    by_name_.resize(strings.size());
    for (std::size_t i = 0; i < strings.size(); ++i) by_name_[i] = loads_data(strings[StringId(i)]);
  }
  // A mark inside another one does not count again.
  bool is(SpanId span) const {
    return is_mark(span) && !(trace_.spans().parent[span].valid() && is_within(span));
  }

 private:
  bool is_mark(SpanId span) const {
    const SpanKind kind = trace_.spans().kind[span];
    const StringId name = trace_.spans().name[span];
    return is_user_range(kind) && name.valid() && by_name_[name.index()];
  }
  bool is_within(SpanId span) const {
    for (SpanId at = trace_.spans().parent[span]; at.valid(); at = trace_.spans().parent[at])
      if (is_mark(at)) return true;
    return false;
  }

  const Trace& trace_;
  std::vector<bool> by_name_;
};

// Threads that run steps; without steps, threads that run operators. Their time counts.
std::vector<bool> working_threads(const Report& report) {
  const Trace& trace = report.trace;
  std::vector<bool> works(trace.tracks().size(), false);
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = trace.spans().kind[span];
    const bool wanted =
        report.steps.steps.empty() ? kind == SpanKind::CpuOp : kind == SpanKind::Step;
    const TrackId track = trace.spans().track[span];
    if (wanted && track.valid()) works[track.index()] = true;
  }
  return works;
}

}  // namespace

std::vector<SpanId> loading_spans(const Report& report) {
  const LoadingMarks marks(report.trace);
  const std::vector<bool> works = working_threads(report);
  std::vector<SpanId> spans;
  for (std::size_t row = 0; row < works.size(); ++row) {
    if (!works[row]) continue;
    for (const SpanId span : report.trace.track_spans(TrackId(row)))
      if (marks.is(span)) spans.push_back(span);
  }
  return spans;
}

}  // namespace sonde::detail
