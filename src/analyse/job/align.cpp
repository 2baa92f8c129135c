// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Puts all ranks on one clock. The ends of a collective nearly coincide, which gives an estimate.
// No rank ends a collective before the last has begun it, which gives bounds that always hold.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "analyse/job/clock_edges.h"
#include "analyse/job/job_data.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostSamples = 2000;  // collectives of one group, for the estimate
constexpr std::size_t kFewestSamples = 200;
constexpr std::size_t kMostTimes = 200'000;  // of all members of a group
constexpr int kMostRounds = 50;
constexpr double kConvergedNs = 10;
constexpr double kShortestDriftNs = 1e9;
constexpr std::size_t kFewestForDrift = 20;
// How much later than others a rank may always see the end of a collective.
constexpr double kEndLagNs = 150'000;
constexpr double kEndLagOfTransfer = 0.05;
constexpr double kClearViolationNs = 20'000;
constexpr double kFarClockNs = 60e9;
// How much two clocks may drift apart if the drift was not measured; else how many standard errors.
constexpr double kUnknownDrift = 100e-6;
constexpr double kDriftErrors = 4;

struct Sample {
  std::uint32_t clock;
  std::uint32_t match;
  double end_ns;  // since the clock's origin
};

class Aligner {
 public:
  explicit Aligner(JobData& data) : data_(data) {}

  void run() {
    name_clocks();
    choose_matches();
    join_components();
    start();
    estimate();
    fit_drifts();
    publish();
    find_residual_drifts();
    bound();
  }

  // Finds assumed groups in which a rank ends before another begins, so that the assumption is
  // wrong. Returns whether there are any.
  bool refuse_wrong_groups() {
    bool found = false;
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      JobGroup& group = data_.report.groups[data_.matches[edge_matches_[i]].group];
      if (!group.is_assumed || !group.problem.empty() || violation(edges_[i]) < kClearViolationNs)
        continue;
      group.problem = "a rank ends before another begins: it is not known which ranks belong to it";
      found = true;
    }
    for (Match& match : data_.matches)
      if (data_.report.groups[match.group].is_assumed)
        match.is_refused |= !data_.report.groups[match.group].problem.empty();
    return found;
  }

 private:
  void name_clocks() {
    std::map<std::string, std::uint32_t> hosts;
    clock_of_.resize(data_.ranks.size());
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      const std::string& host = data_.ranks[r].host;
      if (!host.empty()) {
        const auto [found, is_new] = hosts.try_emplace(host, clocks_);
        clock_of_[r] = found->second;
        if (!is_new) continue;
      }
      clock_of_[r] = clocks_++;
    }
    origin_.assign(clocks_, INT64_MAX);
    for (std::size_t r = 0; r < data_.ranks.size(); ++r)
      origin_[clock_of_[r]] = std::min(origin_[clock_of_[r]], data_.ranks[r].first_ns);
    offset_.assign(clocks_, 0);
    drift_.assign(clocks_, 0);
    span_.assign(clocks_, 0);
  }

  // The collectives whose ends say most, and others only if nothing else joins two clocks.
  void choose_matches() {
    component_.resize(clocks_);
    std::iota(component_.begin(), component_.end(), 0U);
    for (const int tier : {0, 1, 2}) {
      std::map<std::uint32_t, std::vector<std::uint32_t>> by_group;
      for (std::uint32_t m = 0; m < data_.matches.size(); ++m)
        if (tier_of(data_.matches[m]) == tier && (tier == 0 || joins_more(data_.matches[m])))
          by_group[data_.matches[m].group].push_back(m);
      for (const auto& [group, matches] : by_group) {
        const std::size_t members = data_.of(data_.matches[matches.front()]).size();
        const std::size_t step =
            matches.size() / std::clamp(kMostTimes / members, kFewestSamples, kMostSamples) + 1;
        for (std::size_t i = 0; i < matches.size(); i += step) use(matches[i]);
      }
    }
  }

  int tier_of(const Match& match) const {
    if (!match.is_usable()) return 3;
    switch (data_.kinds[match.kind].of) {
      case CollectiveClass::All:
        return 0;
      case CollectiveClass::FromRoot:
      case CollectiveClass::ToRoot:
        return 1;
      case CollectiveClass::Send:
        return 2;
      default:
        return 3;
    }
  }

  bool joins_more(const Match& match) {
    const std::span<const Member> members = data_.of(match);
    for (const Member& member : members)
      if (root(clock_of_[member.rank]) != root(clock_of_[members.front().rank])) return true;
    return false;
  }

  void use(std::uint32_t m) {
    used_.push_back(m);
    const std::span<const Member> members = data_.of(data_.matches[m]);
    for (const Member& member : members) {
      const std::uint32_t clock = clock_of_[member.rank];
      component_[root(clock)] = root(clock_of_[members.front().rank]);
      samples_.push_back({clock, static_cast<std::uint32_t>(used_.size() - 1),
                          static_cast<double>(data_.record(member).end_ns - origin_[clock])});
      span_[clock] = std::max(span_[clock], samples_.back().end_ns);
    }
  }

  std::uint32_t root(std::uint32_t clock) {
    while (component_[clock] != clock) clock = component_[clock] = component_[component_[clock]];
    return clock;
  }

  // The reference of each component is the clock of its lowest rank.
  void join_components() {
    data_.components.resize(data_.ranks.size());
    reference_.assign(clocks_, UINT32_MAX);
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      const std::uint32_t whole = root(clock_of_[r]);
      data_.components[r] = whole;
      if (reference_[whole] == UINT32_MAX) reference_[whole] = clock_of_[r];
    }
    by_clock_.assign(clocks_, {});
    begins_.assign(used_.size() + 1, 0);
    for (std::uint32_t i = 0; i < samples_.size(); ++i) {
      by_clock_[samples_[i].clock].push_back(i);
      ++begins_[samples_[i].match + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    middle_.assign(used_.size(), 0);
  }

  double time(const Sample& sample) const {
    return sample.end_ns + offset_[sample.clock] + drift_[sample.clock] * sample.end_ns;
  }

  // Starts at the references and sets each clock that shares a collective with one already set.
  void start() {
    std::vector<bool> is_set(clocks_, false);
    for (const std::uint32_t clock : reference_)
      if (clock != UINT32_MAX) is_set[clock] = true;
    for (bool grew = true; grew;) {
      grew = false;
      std::vector<std::vector<double>> residuals(clocks_);
      std::vector<double> times;
      for (std::size_t m = 0; m < used_.size(); ++m) {
        times.clear();
        for (std::size_t i = begins_[m]; i < begins_[m + 1]; ++i)
          if (is_set[samples_[i].clock]) times.push_back(time(samples_[i]));
        if (times.empty() || times.size() == begins_[m + 1] - begins_[m]) continue;
        const double middle = median(times);
        for (std::size_t i = begins_[m]; i < begins_[m + 1]; ++i)
          if (!is_set[samples_[i].clock])
            residuals[samples_[i].clock].push_back(middle - samples_[i].end_ns);
      }
      for (std::uint32_t clock = 0; clock < clocks_; ++clock) {
        if (is_set[clock] || residuals[clock].empty()) continue;
        offset_[clock] = median(residuals[clock]);
        is_set[clock] = grew = true;
      }
    }
  }

  void find_middles() {
    std::vector<double> times;
    for (std::size_t m = 0; m < used_.size(); ++m) {
      times.clear();
      for (std::size_t i = begins_[m]; i < begins_[m + 1]; ++i) times.push_back(time(samples_[i]));
      middle_[m] = median(times);
    }
  }

  std::vector<double> residuals_of(std::uint32_t clock) const {
    std::vector<double> residuals;
    residuals.reserve(by_clock_[clock].size());
    for (const std::uint32_t i : by_clock_[clock])
      residuals.push_back(middle_[samples_[i].match] - time(samples_[i]));
    return residuals;
  }

  // Least absolute deviations by alternating medians: of each collective, then of each clock.
  void estimate() {
    for (int round = 0; round < kMostRounds; ++round) {
      find_middles();
      double most = 0;
      for (std::uint32_t clock = 0; clock < clocks_; ++clock) {
        std::vector<double> residuals = residuals_of(clock);
        const double change = median(residuals);
        offset_[clock] += change;
        most = std::max(most, std::abs(change));
      }
      keep_references();
      if (most < kConvergedNs) break;
    }
  }

  void keep_references() {
    const std::vector<double> offsets = offset_;
    for (std::uint32_t clock = 0; clock < clocks_; ++clock)
      offset_[clock] -= offsets[reference_[root(clock)]];
  }

  struct Slope {
    double value = 0;
    double error = 0;
    double centre = 0;
  };

  // Weighted so that outliers count little.
  Slope slope_of(std::uint32_t clock) const {
    const std::vector<double> residuals = residuals_of(clock);
    std::vector<double> sizes;
    sizes.reserve(residuals.size());
    for (const double one : residuals) sizes.push_back(std::abs(one));
    const double scale = std::max(1.4826 * median(sizes), 100.0);
    double weight = 0;
    double centre = 0;
    const auto weight_of = [&](double residual) {
      return std::min(1.0, 1.5 * scale / std::max(std::abs(residual), 1e-9));
    };
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      weight += weight_of(residuals[i]);
      centre += weight_of(residuals[i]) * samples_[by_clock_[clock][i]].end_ns;
    }
    centre /= weight;
    double square = 0;
    double product = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      const double x = samples_[by_clock_[clock][i]].end_ns - centre;
      square += weight_of(residuals[i]) * x * x;
      product += weight_of(residuals[i]) * x * residuals[i];
    }
    if (square <= 0) return {};
    return {product / square, scale / std::sqrt(square), centre};
  }

  void fit_drifts() {
    for (int round = 0; round < 10; ++round) {
      find_middles();
      double most = 0;
      std::vector<double> added(clocks_, 0);
      for (std::uint32_t clock = 0; clock < clocks_; ++clock) {
        if (span_[clock] < kShortestDriftNs || by_clock_[clock].size() < kFewestForDrift) continue;
        const Slope slope = slope_of(clock);
        const bool is_clear = std::abs(slope.value + drift_[clock]) > 3 * slope.error;
        if (!is_clear && drift_[clock] == 0) continue;
        added[clock] = slope.value;
        drift_[clock] += slope.value;
        offset_[clock] -= slope.value * slope.centre;
        most = std::max(most, std::abs(slope.value) * span_[clock]);
      }
      const std::vector<double> drifts = drift_;
      for (std::uint32_t clock = 0; clock < clocks_; ++clock)
        drift_[clock] -= drifts[reference_[root(clock)]];
      estimate();
      if (most < kConvergedNs) break;
    }
  }

  void publish() {
    data_.clocks.resize(data_.ranks.size());
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      const std::uint32_t clock = clock_of_[r];
      const std::uint32_t reference = reference_[root(clock)];
      data_.clocks[r] = {
          static_cast<Nanos>(std::llround(offset_[clock])) + origin_[reference] - origin_[clock],
          drift_[clock], origin_[clock]};
    }
    find_middles();
  }

  // How much each clock may drift against its reference.
  void find_residual_drifts() {
    residual_.assign(clocks_, 0);
    for (std::uint32_t clock = 0; clock < clocks_; ++clock) {
      if (clock == reference_[root(clock)]) continue;
      residual_[clock] = kUnknownDrift;
      if (span_[clock] < kShortestDriftNs || by_clock_[clock].size() < kFewestForDrift) continue;
      const Slope slope = slope_of(clock);
      if (slope.error > 0)
        residual_[clock] =
            std::min(kUnknownDrift, std::abs(slope.value) + kDriftErrors * slope.error);
    }
  }

  // ---- bounds: what may still be added to each offset, in the middle of the job ----

  std::vector<ClockEdge> edges_of(const Match& match) const {
    std::vector<ClockEdge> edges;
    const SharedKind& kind = data_.kinds[match.kind];
    const Nanos base_ns = data_.start_of(data_.of(match).front());
    const auto away_ns = std::abs(static_cast<double>(base_ns - job_middle()));
    for (const Member& member : data_.of(match)) {
      const std::int32_t rank = data_.ranks[member.rank].rank;
      const double drift_ns = residual_[clock_of_[member.rank]] * away_ns;
      ClockEdge edge{clock_of_[member.rank],
                     static_cast<double>(data_.start_of(member) - base_ns) - drift_ns,
                     static_cast<double>(data_.end_of(member) - base_ns) + drift_ns, false, false};
      switch (kind.of) {
        case CollectiveClass::All:
          edge.may_be_last = edge.must_be_after = true;
          break;
        case CollectiveClass::FromRoot:
          edge.may_be_last = rank == kind.source;
          edge.must_be_after = kind.source >= 0 && rank != kind.source;
          break;
        case CollectiveClass::ToRoot:
          edge.may_be_last = kind.source >= 0 && rank != kind.source;
          edge.must_be_after = rank == kind.source;
          break;
        case CollectiveClass::Send:
          edge.may_be_last = rank == kind.source;
          edge.must_be_after = rank == kind.destination;
          break;
        default:
          break;
      }
      edges.push_back(edge);
    }
    return edges;
  }

  void bound() {
    for (std::uint32_t m = 0; m < data_.matches.size(); ++m) {
      if (!data_.matches[m].is_usable()) continue;
      edges_.push_back(edges_of(data_.matches[m]));
      edge_matches_.push_back(m);
    }
    // The estimated offsets must be allowed, so all inequalities are relaxed by the worst
    // violation.
    double slack = 0;
    for (const std::vector<ClockEdge>& edges : edges_) {
      const double by = violation(edges);
      slack = std::max(slack, by);
      if (by > 0) ++contradictions_;
    }
    slack_ = slack;
    high_ = bounds(slack, true);
    low_ = bounds(slack, false);
  }

  std::vector<double> bounds(double slack, bool upper) const {
    std::vector<double> best(clocks_, kNever);
    for (const std::uint32_t clock : reference_)
      if (clock != UINT32_MAX) best[clock] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::vector<ClockEdge>& edges : edges_) {
        // From the known side to the other: from an end to a start, or from a start to an end.
        double reach = kNever;
        for (const ClockEdge& edge : edges) {
          if (upper && edge.must_be_after) reach = std::min(reach, best[edge.clock] + edge.end_ns);
          if (!upper && edge.may_be_last) reach = std::min(reach, best[edge.clock] - edge.start_ns);
        }
        if (reach >= kNever / 2) continue;
        for (const ClockEdge& edge : edges) {
          const bool is_bound = upper ? edge.may_be_last : edge.must_be_after;
          if (!is_bound) continue;
          const double bound = reach + slack + (upper ? -edge.start_ns : edge.end_ns);
          if (bound < best[edge.clock] - 0.5) {
            best[edge.clock] = bound;
            changed = true;
          }
        }
      }
    }
    return best;
  }

  double standard_error(std::uint32_t clock) const {
    std::vector<double> residuals = residuals_of(clock);
    const std::size_t count = residuals.size();
    if (count == 0) return kNever;
    const double spread = std::max(deviation(residuals), 1.0);
    // With two members, each sees half of the difference.
    return 2 * 1.2533 * spread / std::sqrt(static_cast<double>(count));
  }

  // The usual time from the last arrival to the end.
  double usual_transfer() const {
    std::vector<double> transfers;
    for (const std::vector<ClockEdge>& edges : edges_) {
      double shortest = kNever;
      for (const ClockEdge& edge : edges)
        shortest = std::min(shortest, edge.end_ns - edge.start_ns);
      if (shortest < kNever) transfers.push_back(std::max(shortest, 0.0));
      if (transfers.size() > kMostSamples) break;
    }
    return median(transfers);
  }

  Nanos job_middle() const {
    const RankSummary& first = data_.ranks.front();
    return first.first_ns + (first.last_ns - first.first_ns) / 2;
  }

 public:
  void report() {
    data_.report.contradictions = contradictions_;
    data_.report.worst_contradiction_ns = static_cast<Nanos>(slack_);
    const double lag = kEndLagNs + kEndLagOfTransfer * usual_transfer();
    const std::map<std::uint32_t, SetClock> set = find_set_clocks(edges_, clocks_, lag);
    for (const auto& [clock, one] : set) note_set_clock(clock, one);
    std::size_t apart = 0;
    data_.errors.assign(data_.ranks.size(), 0);
    const Nanos middle_ns = job_middle();
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      const std::uint32_t clock = clock_of_[r];
      const std::uint32_t reference = reference_[root(clock)];
      JobClock row;
      row.rank = data_.ranks[r].rank;
      row.host = data_.ranks[r].host;
      row.is_aligned = data_.components[r] == data_.components.front();
      row.offset_ns = data_.on_job_clock(static_cast<std::uint32_t>(r), middle_ns) - middle_ns;
      row.drift_ppm = drift_[clock] * 1e6;
      row.at_ns = middle_ns;
      row.collectives = by_clock_[clock].size();
      if (clock != reference) {
        double error = 3 * std::hypot(standard_error(clock), standard_error(reference)) + lag;
        row.is_bounded_below = low_[clock] < kNever / 2;
        row.is_bounded_above = high_[clock] < kNever / 2;
        if (row.is_bounded_below && row.is_bounded_above)
          error = std::min(error, std::max({low_[clock], high_[clock], 0.0}));
        row.error_ns = static_cast<std::int64_t>(std::min(error, kNever)) + 1;
        row.low_ns = row.is_bounded_below ? row.offset_ns - std::llround(low_[clock]) : 0;
        row.high_ns = row.is_bounded_above ? row.offset_ns + std::llround(high_[clock]) : 0;
      } else {
        row.low_ns = row.high_ns = row.offset_ns;
        row.is_bounded_below = row.is_bounded_above = true;
      }
      if (const auto found = set.find(clock); found != set.end())
        widen(row, std::llround(found->second.wrong_by_ns));
      row.error_ns = std::max(row.error_ns,
                              std::min<std::int64_t>(data_.ranks[r].clock_error_ns, INT64_MAX / 4));
      if (!row.is_aligned) ++apart;
      data_.errors[r] = row.error_ns;
      data_.report.clocks.push_back(std::move(row));
    }
    note_far_clocks();
    if (apart > 0)
      data_.report.notes.push_back(format_text(
          "No matched collective joins {} to rank {}: {} times are not compared with others.",
          counted_text(apart, "rank"), data_.ranks.front().rank, apart == 1 ? "its" : "their"));
  }

 private:
  static void widen(JobClock& row, std::int64_t by_ns) {
    row.error_ns += by_ns;
    if (row.is_bounded_below) row.low_ns -= by_ns;
    if (row.is_bounded_above) row.high_ns += by_ns;
  }

  void note_set_clock(std::uint32_t clock, const SetClock& set) {
    const auto first = std::find(clock_of_.begin(), clock_of_.end(), clock);
    const RankSummary& rank = data_.ranks[static_cast<std::size_t>(first - clock_of_.begin())];
    const std::string whose =
        rank.host.empty() ? format_text("rank {}", rank.rank) : format_text("host {}", rank.host);
    data_.report.notes.push_back(format_text(
        "Times of {} contradict those of others in {} of {} collectives, by up to {}: its clock "
        "may have been set during the recording. The error that is stated for it allows for that.",
        whose, set.collectives, set.of, duration_text(std::llround(set.worst_ns))));
  }

  // Clocks of machines agree to a second or so. Recordings that were not made at the same time are
  // probably not of one job.
  void note_far_clocks() {
    std::size_t far = 0;
    const JobClock* worst = nullptr;
    for (const JobClock& clock : data_.report.clocks) {
      if (!clock.is_aligned || distance(clock) < kFarClockNs) continue;
      ++far;
      if (worst == nullptr || distance(clock) > distance(*worst)) worst = &clock;
    }
    if (worst == nullptr) return;
    data_.report.notes.push_back(format_text(
        "The clock of rank {} differs from that of rank {} by {:.0f} s{}. If the machines' clocks "
        "agree, these are not recordings of one run.",
        worst->rank, data_.ranks.front().rank, distance(*worst) / 1e9,
        far == 1 ? std::string() : format_text(", and {} more are as far off", far - 1)));
  }

  static double distance(const JobClock& clock) {
    return std::abs(static_cast<double>(clock.offset_ns));
  }

  JobData& data_;
  std::uint32_t clocks_ = 0;
  std::vector<std::uint32_t> clock_of_;  // of each rank
  std::vector<Nanos> origin_;            // of each clock, and so below
  std::vector<double> offset_;
  std::vector<double> drift_;
  std::vector<double> span_;
  std::vector<double> residual_;  // drift that was not found
  std::vector<std::uint32_t> component_;
  std::vector<std::uint32_t> reference_;  // of each component's root
  std::vector<std::uint32_t> used_;       // matches, for the estimate
  std::vector<Sample> samples_;           // by match
  std::vector<std::size_t> begins_;
  std::vector<double> middle_;
  std::vector<std::vector<std::uint32_t>> by_clock_;
  std::vector<std::vector<ClockEdge>> edges_;
  std::vector<double> high_;
  std::vector<double> low_;
  std::vector<std::uint32_t> edge_matches_;
  std::uint64_t contradictions_ = 0;
  double slack_ = 0;
};

}  // namespace

double deviation(std::vector<double>& values) {
  const double centre = median(values);
  for (double& value : values) value = std::abs(value - centre);
  return 1.4826 * median(values);
}

void align(JobData& data) {
  Aligner first(data);
  first.run();
  if (!first.refuse_wrong_groups()) return first.report();
  Aligner second(data);
  second.run();
  second.report();
}

}  // namespace sonde::detail
