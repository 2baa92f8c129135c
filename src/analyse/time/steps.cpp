// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/steps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyse/report/report_data.h"
#include "analyse/time/whole_steps.h"
#include "base/median.h"
#include "base/sum.h"
#include "base/text.h"

namespace sonde {
namespace {

using detail::Coverage;

// With fewer steps it is unclear what is normal.
constexpr std::size_t kLeastSteps = 4;
// A step is an outlier if it takes a quarter longer than the median and lies far outside the usual
// variation: five median deviations (scaled to a standard deviation).
constexpr double kLeastExcess = 0.25;
constexpr double kLeastDeviations = 5 * 1.4826;

// The self time of each name in one step.
class OwnTimes {
 public:
  OwnTimes(const Trace& trace, SpanId step) {
    const SpanTable& spans = trace.spans();
    const TrackId track = spans.track[step];
    const Nanos end_ns = trace.end_ns(step);
    for (std::uint32_t row = step.value(); row < spans.size(); ++row) {
      const SpanId span(row);
      if (spans.track[span] != track || spans.start_ns[span] >= end_ns) break;
      if ((spans.flags[span] & SpanFlags::kAsync) != 0) continue;
      const StringId name = spans.kind[span] == SpanKind::Step ? StringId() : spans.name[span];
      detail::add_to(by_name_[name.value()], spans.duration_ns[span]);
      if (span == step || !spans.parent[span].valid()) continue;
      const SpanId parent = spans.parent[span];
      const bool of_step = spans.kind[parent] == SpanKind::Step;
      detail::take_from(by_name_[of_step ? StringId::kInvalid : spans.name[parent].value()],
                        spans.duration_ns[span]);
    }
  }
  Nanos of(std::uint32_t name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? 0 : found->second;
  }
  // The name that grew most since `usual`.
  std::pair<std::uint32_t, Nanos> grown(const OwnTimes& usual) const {
    std::pair<std::uint32_t, Nanos> most{StringId::kInvalid, 0};
    for (const auto& [name, own_ns] : by_name_) {
      Nanos more_ns = own_ns;
      detail::take_from(more_ns, usual.of(name));
      if (std::tuple(more_ns, most.first) > std::tuple(most.second, name)) most = {name, more_ns};
    }
    return most;
  }

 private:
  std::unordered_map<std::uint32_t, Nanos> by_name_;  // the invalid name is the step itself
};

class StepMaker {
 public:
  explicit StepMaker(const detail::ReportData& data) : data_(data), trace_(data.trace) {}

  StepTimes make() {
    collect();
    summarise();
    if (out_.steps.size() >= kLeastSteps) mark_outliers();
    return std::move(out_);
  }

 private:
  void collect() {
    const SpanTable& spans = trace_.spans();
    for (const SpanId span : detail::whole_steps(trace_)) {
      const TrackId track = spans.track[span];
      StepTime step;
      step.step = spans.step[span];
      step.span = span;
      step.process = track.valid() ? trace_.tracks().process[track] : ProcessId();
      step.begin_ns = spans.start_ns[span];
      step.end_ns = trace_.end_ns(span);
      fill(step);
      out_.steps.push_back(std::move(step));
    }
    std::stable_sort(out_.steps.begin(), out_.steps.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.process.value(), a.begin_ns) < std::tuple(b.process.value(), b.begin_ns);
    });
  }

  void fill(StepTime& step) {
    if (step.process.valid())
      step.in_operators_ns =
          data_.all_operators(step.process).within_ns(step.begin_ns, step.end_ns);
    const detail::ProcessDevices* const devices = data_.devices_of(step.process);
    if (devices != nullptr) {
      step.device_busy_ns = devices->busy.within_ns(step.begin_ns, step.end_ns);
      step.device_idle_ns = step.host_ns() - step.device_busy_ns;
      step.copies_ns = devices->copies.within_ns(step.begin_ns, step.end_ns);
    }
    step.peak_bytes = data_.peak_bytes(step.process, step.begin_ns);
  }

  void summarise() {
    if (out_.steps.empty()) return;
    std::vector<Nanos> lengths;
    lengths.reserve(out_.steps.size());
    for (const StepTime& step : out_.steps) lengths.push_back(step.host_ns());
    for (const Nanos length : lengths) detail::add_to(out_.total_ns, length);
    out_.least_ns = *std::min_element(lengths.begin(), lengths.end());
    out_.most_ns = *std::max_element(lengths.begin(), lengths.end());
    out_.mean_ns = static_cast<double>(out_.total_ns) / static_cast<double>(lengths.size());
    double squares = 0;
    for (const Nanos length : lengths) {
      const double off = static_cast<double>(length) - out_.mean_ns;
      squares += off * off;
    }
    out_.deviation_ns = std::sqrt(squares / static_cast<double>(lengths.size()));
    out_.median_ns = median_of(std::move(lengths));
  }

  void mark_outliers() {
    std::vector<Nanos> deviations;
    deviations.reserve(out_.steps.size());
    for (const StepTime& step : out_.steps)
      deviations.push_back(std::abs(step.host_ns() - out_.median_ns));
    const double usual_ns =
        kLeastDeviations * static_cast<double>(median_of(std::move(deviations)));
    const auto usual = std::min_element(
        out_.steps.begin(), out_.steps.end(), [this](const StepTime& a, const StepTime& b) {
          return std::abs(a.host_ns() - out_.median_ns) < std::abs(b.host_ns() - out_.median_ns);
        });
    const OwnTimes usual_times(trace_, usual->span);
    for (StepTime& step : out_.steps) {
      const auto excess_ns = static_cast<double>(step.host_ns() - out_.median_ns);
      const bool is_far = excess_ns > usual_ns;
      if (!is_far || excess_ns <= kLeastExcess * static_cast<double>(out_.median_ns)) continue;
      step.is_outlier = true;
      ++out_.outliers;
      detail::add_to(out_.outliers_excess_ns, step.host_ns() - out_.median_ns);
      step.why = reason(step, usual_times, usual->step);
    }
  }

  std::string reason(const StepTime& step, const OwnTimes& usual, std::int64_t usual_step) const {
    const auto [name, more_ns] = OwnTimes(trace_, step.span).grown(usual);
    if (more_ns <= 0)
      return "nothing on its thread took longer than in step " + std::to_string(usual_step);
    const std::string what = name == StringId::kInvalid
                                 ? "code outside all spans"
                                 : std::string(trace_.string(StringId(name)));
    return what + " took " + duration_text(more_ns) + " more than in step " +
           std::to_string(usual_step);
  }

  const detail::ReportData& data_;
  const Trace& trace_;
  StepTimes out_;
};

}  // namespace

std::string_view to_string(StepRule rule) noexcept {
  switch (rule) {
    case StepRule::Recorded:
      return "recorded";
    case StepRule::Inferred:
      return "inferred";
    case StepRule::Repeated:
      return "repeated";
    case StepRule::None:
      break;
  }
  return "none";
}

StepTimes step_times(const Trace& trace) {
  return detail::step_times(detail::ReportData(trace));
}

namespace detail {

StepTimes step_times(const ReportData& data) {
  return StepMaker(data).make();
}

}  // namespace detail
}  // namespace sonde
