// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/time/steady.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "analyse/flags.h"
#include "base/median.h"
#include "base/sum.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

// Fewer steps do not show what is steady.
constexpr std::size_t kLeastSteadySteps = 4;
// A step at the beginning is warm-up if it takes this much longer than the later ones, and lies
// outside their usual variation: three median deviations (scaled to a standard deviation).
constexpr double kWarmUpExcess = 1.25;
constexpr double kWarmUpDeviations = 3 * 1.4826;
// More than a fifth of the steps, or three, is something else: the program or the machine changed.
constexpr std::size_t kMostWarmUp = 3;
constexpr std::size_t kMostWarmUpShare = 5;
// Iterations are what comes between two calls of one operator, if nearly all are alike …
constexpr std::size_t kLeastIterations = 5;
constexpr std::size_t kFewIterations = 4;  // if there are not so many
// … and have more operators than a loop within a step …
constexpr std::size_t kLeastOperators = 4;
// … or are so many …
constexpr std::size_t kLeastShortIterations = 50;
constexpr double kLeastAlike = 0.8;
// … and they take a good part of the thread's time.
constexpr double kLeastCovered = 0.3;
constexpr std::size_t kMostAnchors = 64;

// The operators of a thread that are in no other operator, in order.
std::vector<SpanId> outer_operators(const Trace& trace, TrackId thread) {
  std::vector<SpanId> ops;
  Nanos until_ns = trace.first_ns();
  for (const SpanId span : trace.track_spans(thread)) {
    if (!is_operator(trace.spans().kind[span])) continue;
    if (!ops.empty() && trace.end_ns(span) <= until_ns) continue;
    ops.push_back(span);
    until_ns = trace.end_ns(span);
  }
  return ops;
}

class IterationFinder {
 public:
  IterationFinder(const Trace& trace, TrackId thread)
      : trace_(trace), ops_(outer_operators(trace, thread)) {
    hash_.reserve(ops_.size() + 1);
    power_.reserve(ops_.size() + 1);
    hash_.push_back(0);
    power_.push_back(1);
    for (const SpanId op : ops_) {
      hash_.push_back(hash_.back() * kBase + trace.spans().name[op].value() + 1);
      power_.push_back(power_.back() * kBase);
    }
  }

  std::vector<Coverage::Stretch> find(Loops wanted) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> places;
    for (std::size_t i = 0; i < ops_.size(); ++i)
      places[trace_.spans().name[ops_[i]].value()].push_back(static_cast<std::uint32_t>(i));
    std::vector<const std::vector<std::uint32_t>*> anchors;
    for (const auto& [name, at] : places)
      if (at.size() > kFewIterations) anchors.push_back(&at);
    // The rarest first: iterations of the outermost loop.
    std::stable_sort(anchors.begin(), anchors.end(),
                     [](const auto* a, const auto* b) { return a->size() < b->size(); });
    if (anchors.size() > kMostAnchors) anchors.resize(kMostAnchors);
    // What happens four times may be printed every tenth iteration.
    for (const std::size_t least : {kLeastIterations, kFewIterations}) {
      for (const auto* const at : anchors) {
        if (at->size() <= least) continue;
        std::vector<Coverage::Stretch> found = between(*at, kLeastOperators);
        if (!found.empty()) return found;
      }
    }
    if (wanted == Loops::Whole) return {};
    for (const auto* const at : anchors) {
      if (at->size() < kLeastShortIterations) continue;
      std::vector<Coverage::Stretch> found = between(*at, 1);
      if (!found.empty()) return found;
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15ULL;

  std::uint64_t hash(std::size_t first, std::size_t last) const {
    return hash_[last] - hash_[first] * power_[last - first];
  }

  // One iteration from each of these places to the next, if most have the same operators.
  std::vector<Coverage::Stretch> between(const std::vector<std::uint32_t>& places,
                                         std::size_t least_operators) const {
    std::unordered_map<std::uint64_t, std::size_t> counts;
    for (std::size_t i = 1; i < places.size(); ++i) ++counts[hash(places[i - 1], places[i])];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (places.back() - places.front() < least_operators * (places.size() - 1)) return {};
    const auto rounds = static_cast<double>(places.size() - 1);
    if (most == counts.end() || static_cast<double>(most->second) < kLeastAlike * rounds) return {};
    std::vector<Coverage::Stretch> out;
    Nanos covered_ns = 0;
    for (std::size_t i = 1; i < places.size(); ++i) {
      const Nanos begin_ns = trace_.spans().start_ns[ops_[places[i - 1]]];
      const Nanos end_ns = trace_.spans().start_ns[ops_[places[i]]];
      out.push_back({begin_ns, end_ns, 0});
      // What lies between two runs of an inner loop is no iteration of it.
      if (hash(places[i - 1], places[i]) == most->first) add_to(covered_ns, end_ns - begin_ns);
    }
    const Nanos extent_ns = trace_.end_ns(ops_.back()) - trace_.spans().start_ns[ops_.front()];
    const bool is_much =
        static_cast<double>(covered_ns) >= kLeastCovered * static_cast<double>(extent_ns);
    return is_much ? out : std::vector<Coverage::Stretch>();
  }

  const Trace& trace_;
  std::vector<SpanId> ops_;
  std::vector<std::uint64_t> hash_;  // of all names before each place
  std::vector<std::uint64_t> power_;
};

// The span that takes longest before a time; of nested ones the innermost that takes most of it.
SpanId longest_before(const Trace& trace, TrackId thread, Nanos time_ns) {
  SpanId longest;
  const SpanTable& spans = trace.spans();
  for (const SpanId span : trace.track_spans(thread)) {
    if (spans.start_ns[span] >= time_ns) break;
    if (trace.end_ns(span) > time_ns || (spans.flags[span] & SpanFlags::kAsync) != 0) continue;
    if (!longest.valid()) {
      longest = span;
      continue;
    }
    const bool is_inside = trace.end_ns(span) <= trace.end_ns(longest);
    const Nanos wanted_ns =
        is_inside ? spans.duration_ns[longest] / 10 * 8 : spans.duration_ns[longest];
    if (spans.duration_ns[span] > wanted_ns) longest = span;
  }
  return longest;
}

Nanos first_span_ns(const Trace& trace) {
  Nanos first_ns = trace.last_ns();
  for (std::size_t row = 0; row < trace.tracks().size(); ++row) {
    for (const SpanId span : trace.track_spans(TrackId(row))) {
      if (trace.spans().kind[span] == SpanKind::TraceSpan) continue;
      first_ns = std::min(first_ns, trace.spans().start_ns[span]);
      break;
    }
  }
  return first_ns;
}

void use(SteadyPart& part, const std::vector<Coverage::Stretch>& steps) {
  std::vector<Nanos> lengths;
  lengths.reserve(steps.size());
  for (const Coverage::Stretch& step : steps) lengths.push_back(step.end_ns - step.begin_ns);
  part.warm_up_steps = warm_up_steps(lengths);
  Stretches steady;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i < part.warm_up_steps) {
      add_to(part.warm_up_ns, lengths[i]);
    } else {
      steady.add(steps[i].begin_ns, steps[i].end_ns);
    }
  }
  part.covers = steady.united();
  part.steps = steps.size() - part.warm_up_steps;
  part.step_ns = median_of<Nanos>(
      {lengths.begin() + static_cast<std::ptrdiff_t>(part.warm_up_steps), lengths.end()});
}

}  // namespace

std::size_t warm_up_steps(const std::vector<Nanos>& lengths) {
  if (lengths.size() < kLeastSteadySteps) return 0;
  const std::vector<Nanos> later(lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2),
                                 lengths.end());
  const Nanos median = median_of(later);
  std::vector<Nanos> deviations;
  deviations.reserve(later.size());
  for (const Nanos length : later) deviations.push_back(std::abs(length - median));
  const auto center = static_cast<double>(median);
  const double usual =
      std::max(kWarmUpExcess * center,
               center + kWarmUpDeviations * static_cast<double>(median_of(std::move(deviations))));
  std::size_t slow = 0;
  const std::size_t most =
      std::min(lengths.size() / 2, std::max(kMostWarmUp, lengths.size() / kMostWarmUpShare));
  while (slow<most&& static_cast<double>(lengths[slow])> usual) ++slow;
  return slow;
}

std::vector<Coverage::Stretch> iterations(const Trace& trace, TrackId thread, Loops wanted) {
  if (!thread.valid()) return {};
  const IterationFinder finder(trace, thread);
  return finder.find(wanted);
}

SteadyPart steady_part(const Trace& trace, const StepTimes& times, TrackId main) {
  SteadyPart part;
  std::vector<Coverage::Stretch> steps;
  TrackId thread = main;
  if (!times.steps.empty()) {
    part.inferred_from = metadata_text(trace, kStepsInferredFrom);
    part.rule = part.inferred_from.empty() ? StepRule::Recorded : StepRule::Inferred;
    for (const StepTime& step : times.steps) steps.push_back({step.begin_ns, step.end_ns, 0});
    if (times.steps.front().span.valid()) thread = trace.spans().track[times.steps.front().span];
  } else {
    steps = iterations(trace, main, Loops::AlsoShort);
    if (!steps.empty()) part.rule = StepRule::Repeated;
  }
  const Nanos first_ns = first_span_ns(trace);
  if (steps.empty()) {
    part.covers.add(first_ns, std::max(trace.last_ns(), first_ns));
    return part;
  }
  use(part, steps);
  Nanos begin_ns = steps.front().begin_ns;
  for (const Coverage::Stretch& step : steps) begin_ns = std::min(begin_ns, step.begin_ns);
  part.start_ns = std::max<Nanos>(begin_ns - std::min(first_ns, trace.first_ns()), 0);
  if (thread.valid()) part.start_span = longest_before(trace, thread, begin_ns);
  return part;
}

}  // namespace sonde::detail
