// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Who waited in each collective, how long, and who came last.

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyse/job/job_data.h"
#include "base/format.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kNoiseSamples = 60;  // collectives of a kind
constexpr std::size_t kComparedRanks = 8;  // that waited
constexpr double kAboveNoise = 4;
constexpr std::size_t kArrivalsKept = 12;

// What a link carries for each byte of the collective.
double bus_factor(std::string_view name, double members) {
  return (name == "all_reduce" ? 2 : 1) * (members - 1) / members;
}

class WaitFinder {
 public:
  explicit WaitFinder(JobData& data) : data_(data) {}

  void run() {
    for (const RankSummary& rank : data_.ranks) add_rank(rank);
    find_noise();
    data_.report.collectives.reserve(data_.matches.size());
    waits_.resize(data_.ranks.size());
    for (std::uint32_t m = 0; m < data_.matches.size(); ++m) measure(m);
    report_noise();
    for (std::size_t r = 0; r < waits_.size(); ++r) {
      JobRank& rank = data_.report.ranks[r];
      rank.wait_ns = united_ns(std::move(waits_[r]));
      rank.exposed_ns = std::min(rank.exposed_ns, rank.wait_ns);
    }
    keep_arrivals();
    std::stable_sort(
        data_.report.collectives.begin(), data_.report.collectives.end(),
        [](const JobCollective& a, const JobCollective& b) { return a.last_ns < b.last_ns; });
    std::stable_sort(
        data_.late.begin(), data_.late.end(),
        [](const Lateness& a, const Lateness& b) { return a.arrival_ns < b.arrival_ns; });
    find_hangs();
  }

 private:
  void add_rank(const RankSummary& rank) {
    JobRank& added = data_.report.ranks.emplace_back();
    added.rank = rank.rank;
    added.source = rank.source;
    added.host = rank.host;
    added.collectives = rank.collectives.size();
    added.device = rank.device;
    added.launches = rank.launches;
    added.streams = rank.streams;
  }

  bool is_timed(const Match& match) const {
    if (!match.is_usable()) return false;
    const std::uint32_t component = data_.components[data_.of(match).front().rank];
    for (const Member& member : data_.of(match))
      if (data_.components[member.rank] != component) return false;
    return true;
  }

  // How much a rank's place among the others varies from step to step, in the calls of a kind that
  // have the same place in their steps.
  void find_noise() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> by_place;
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>
        counts;  // by kind: step, calls
    for (std::uint32_t m = 0; m < data_.matches.size(); ++m) {
      const Match& match = data_.matches[m];
      if (!is_timed(match)) continue;
      auto& [step, calls] =
          counts.try_emplace(match.kind, RankCollective::kNoStep, 0).first->second;
      const std::uint32_t now = data_.record(data_.of(match).front()).step;
      calls = now == step && now != RankCollective::kNoStep ? calls + 1 : 0;
      step = now;
      by_place[{match.kind, calls}].push_back(m);
    }
    noise_.assign(data_.matches.size(), 0);
    for (const auto& [place, matches] : by_place) {
      const double noise = noise_of(matches);
      for (const std::uint32_t m : matches) noise_[m] = noise;
    }
  }

  // The noise where ranks wait: half of all waiting is in collectives with more of it.
  void report_noise() {
    std::vector<std::pair<double, double>> all;  // and how long ranks wait
    double left = 0;
    for (std::uint32_t m = 0; m < data_.matches.size(); ++m) {
      if (!is_timed(data_.matches[m])) continue;
      all.emplace_back(noise_[m], static_cast<double>(data_.report.collectives[m].wait_ns) + 1);
      left += all.back().second / 2;
    }
    std::sort(all.begin(), all.end());
    for (const auto& [noise, wait] : all) {
      data_.report.noise_ns = static_cast<Nanos>(noise);
      left -= wait;
      if (left <= 0) return;
    }
  }

  double noise_of(const std::vector<std::uint32_t>& matches) const {
    std::map<std::uint32_t, std::vector<double>> places;  // by rank
    const std::size_t step = matches.size() / kNoiseSamples + 1;
    std::vector<double> starts;
    for (std::size_t i = 0; i < matches.size(); i += step) {
      const Match& match = data_.matches[matches[i]];
      const Nanos base_ns = data_.start_of(data_.of(match).front());
      starts.clear();
      for (const Member& member : data_.of(match))
        starts.push_back(static_cast<double>(data_.start_of(member) - base_ns));
      std::vector<double> sorted = starts;
      const double centre = median(sorted);
      for (std::size_t k = 0; k < starts.size(); ++k)
        places[data_.of(match)[k].rank].push_back(starts[k] - centre);
    }
    std::vector<double> in_time;
    std::vector<double> usual;
    for (auto& [rank, of] : places) {
      std::vector<double> values = of;
      in_time.push_back(deviation(values));
      usual.push_back(median(of));
    }
    const double over_time = median(in_time);
    if (usual.size() == 2) return 2 * over_time;  // each is half of the difference from the middle
    // Among few ranks, the one that is always late is not to be taken for noise.
    return usual.size() < 4 ? over_time : std::max(over_time, deviation(usual) / 2);
  }

  void measure(std::uint32_t m) {
    const Match& match = data_.matches[m];
    const SharedKind& kind = data_.kinds[match.kind];
    JobCollective row;
    row.group = match.group;
    row.name = kind.name;
    row.dtype = kind.dtype;
    row.state = match.state;
    row.is_p2p = kind.of == CollectiveClass::Send;
    row.members = match.count;
    row.bytes = collective_bytes(data_.report.text(kind.dtype),
                                 std::max(kind.in_elements, kind.out_elements));
    if (is_timed(match)) measure_times(m, row);
    data_.report.collectives.push_back(row);
  }

  void measure_times(std::uint32_t m, JobCollective& row) {
    const Match& match = data_.matches[m];
    const std::span<const Member> members = data_.of(match);
    starts_.clear();
    row.first_ns = INT64_MAX;
    row.last_ns = row.end_ns = INT64_MIN;
    std::size_t last = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Nanos start_ns = data_.start_of(members[i]);
      starts_.push_back(start_ns);
      row.first_ns = std::min(row.first_ns, start_ns);
      row.end_ns = std::max(row.end_ns, data_.end_of(members[i]));
      if (start_ns > row.last_ns) {
        row.last_ns = start_ns;
        last = i;
      }
    }
    row.transfer_ns = INT64_MAX;
    for (std::size_t i = 0; i < members.size(); ++i) add_wait(members[i], starts_[i], row);
    const RankSummary& late_rank = data_.ranks[members[last].rank];
    const std::uint32_t step = data_.record(members[last]).step;
    if (step != RankCollective::kNoStep) row.step = late_rank.steps[step].number;
    if (row.bytes > 0 && row.transfer_ns > 0 && !row.is_p2p)
      row.bus_gb_per_s = static_cast<double>(row.bytes) *
                         bus_factor(data_.report.text(row.name), match.count) /
                         static_cast<double>(row.transfer_ns);
    find_last(m, last, row);
    if (row.is_p2p) row.late_ns = 0;  // the stages of a pipeline wait for each other by design
  }

  void add_wait(const Member& member, Nanos start_ns, JobCollective& row) {
    const RankCollective& record = data_.record(member);
    JobRank& rank = data_.report.ranks[member.rank];
    // A rank waits within its own call, whatever the clocks say.
    const Nanos wait_ns = std::min(row.last_ns - start_ns, record.duration_ns());
    const Nanos transfer_ns = std::max<Nanos>(0, data_.end_of(member) - row.last_ns);
    const Nanos exposed_ns = std::max<Nanos>(0, wait_ns - record.hidden_ns);
    add_to(row.wait_ns, wait_ns);
    add_to(row.exposed_ns, exposed_ns);
    waits_[member.rank].emplace_back(start_ns, start_ns + wait_ns);
    add_to(rank.exposed_ns, exposed_ns);
    add_to(rank.transfer_ns, transfer_ns);
    row.transfer_ns = std::min(row.transfer_ns, transfer_ns);
  }

  // Who came last, unless clocks are not good enough to say; and whether some came clearly later
  // than all others: the widest gap in the order of arrival divides them.
  void find_last(std::uint32_t m, std::size_t last, JobCollective& row) {
    const std::span<const Member> members = data_.of(data_.matches[m]);
    order_.resize(members.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    const std::size_t half = members.size() / 2;
    std::nth_element(
        order_.begin(),
        order_.begin() + static_cast<std::ptrdiff_t>(half - (members.size() % 2 == 0 ? 1 : 0)),
        order_.end(), [&](std::uint32_t a, std::uint32_t b) { return starts_[a] < starts_[b]; });
    const std::size_t lower = members.size() - half;  // at least so many are not to blame
    std::sort(order_.begin() + static_cast<std::ptrdiff_t>(lower - 1), order_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return starts_[a] < starts_[b]; });
    const auto error = [&](std::size_t a, std::size_t b) {
      return data_.errors[members[a].rank] + data_.errors[members[b].rank];
    };
    const std::size_t second = order_[order_.size() - 2];
    if (starts_[last] - starts_[second] > error(last, second)) {
      row.last = data_.ranks[members[last].rank].rank;
      if (!row.is_p2p) ++data_.report.ranks[members[last].rank].times_last;
    }
    std::size_t cut = 0;
    Nanos widest_ns = 0;
    for (std::size_t i = lower; i < order_.size(); ++i) {
      const Nanos gap_ns = starts_[order_[i]] - starts_[order_[i - 1]];
      if (gap_ns > widest_ns) {
        widest_ns = gap_ns;
        cut = i;
      }
    }
    if (cut == 0) return;
    const double noise = kAboveNoise * noise_[m];
    const Nanos spread_ns = starts_[order_.back()] - starts_[order_[lower - 1]];
    const bool is_clear = static_cast<double>(widest_ns) > noise &&
                          widest_ns > 2 * error(order_[cut], order_[cut - 1]) / 2 &&
                          widest_ns * 2 >= spread_ns;
    if (!is_clear) return;
    Lateness late;
    late.match = m;
    for (std::size_t i = cut; i < order_.size(); ++i)
      late.culprits.push_back(members[order_[i]].rank);
    std::reverse(late.culprits.begin(), late.culprits.end());  // the last first
    std::vector<std::uint32_t> others;
    others.reserve(cut);
    for (std::size_t i = 0; i < cut; ++i) others.push_back(members[order_[i]].rank);
    std::sort(others.begin(), others.end());
    const std::size_t every = (others.size() + kComparedRanks - 1) / kComparedRanks;
    for (std::size_t i = 0; i < others.size(); i += every) late.others.push_back(others[i]);
    late.late_ns = starts_[order_.back()] - starts_[order_[cut - 1]];
    late.arrival_ns = starts_[order_.back()];
    row.late_ns = late.late_ns;
    data_.late.push_back(std::move(late));
  }

  // Of the collectives in which somebody was latest, or else others waited longest. Their rows are
  // still in the order of the matches.
  void keep_arrivals() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t m = 0; m < data_.matches.size(); ++m)
      if (is_timed(data_.matches[m]) && !data_.report.collectives[m].is_p2p) order.push_back(m);
    const auto badness = [&](std::uint32_t m) {
      const JobCollective& row = data_.report.collectives[m];
      return std::tuple(row.late_ns, row.wait_ns / row.members);
    };
    const std::size_t kept = std::min(order.size(), kArrivalsKept);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                        return std::tuple(badness(b), a) < std::tuple(badness(a), b);
                      });
    for (std::size_t i = 0; i < kept; ++i) {
      JobArrivals arrivals;
      arrivals.of = data_.report.collectives[order[i]];
      for (const Member& member : data_.of(data_.matches[order[i]]))
        arrivals.members.push_back({data_.ranks[member.rank].rank, data_.start_of(member),
                                    data_.end_of(member), data_.errors[member.rank]});
      data_.report.arrivals.push_back(std::move(arrivals));
    }
  }

  // Calls that some began and that others, whose recording goes on, never reached.
  void find_hangs() {
    for (std::uint32_t r = 0; r < data_.ranks.size(); ++r) {
      const RankSummary& rank = data_.ranks[r];
      for (auto one = rank.collectives.rbegin(); one != rank.collectives.rend(); ++one) {
        if ((one->flags & RankCollective::kUnfinished) == 0) break;
        hanging_[r] = static_cast<std::uint32_t>(rank.collectives.rend() - one - 1);
      }
    }
    if (hanging_.empty() || hanging_.size() == data_.ranks.size()) return;
    JobHang hang;
    const auto& [first, record] = *hanging_.begin();
    const RankSummary& waiting = data_.ranks[first];
    const CollectiveKind& kind = waiting.kinds[waiting.collectives[record].kind];
    hang.name = waiting.text(kind.name);
    for (std::uint32_t g = 0; g < data_.report.groups.size(); ++g)
      if (data_.report.groups[g].name == waiting.groups[kind.group].name &&
          data_.report.groups[g].ranks == waiting.groups[kind.group].ranks)
        hang.group = g;
    const Nanos began_ns = data_.on_job_clock(first, waiting.collectives[record].start_ns);
    const std::vector<std::int32_t>& of = data_.report.groups[hang.group].ranks;
    for (std::uint32_t r = 0; r < data_.ranks.size(); ++r) {
      const RankSummary& rank = data_.ranks[r];
      if (!of.empty() && !std::binary_search(of.begin(), of.end(), rank.rank)) continue;
      if (hanging_.contains(r)) {
        hang.waiting.push_back(rank.rank);
      } else if (data_.on_job_clock(r, rank.last_ns) > began_ns) {
        hang.absent.push_back(rank.rank);
        if (hang.last_activity.empty()) hang.last_activity = last_activity(rank);
      }
    }
    if (!hang.absent.empty()) data_.report.hangs.push_back(std::move(hang));
  }

  static std::string last_activity(const RankSummary& rank) {
    for (auto one = rank.activities.rbegin(); one != rank.activities.rend(); ++one)
      if (one->kind != ActivityKind::Collective && one->kind != ActivityKind::Wait &&
          one->name != RankActivity::kNone)
        return std::string(rank.text(one->name));
    return "";
  }

  JobData& data_;
  std::vector<double> noise_;                // of each match
  std::vector<std::vector<Stretch>> waits_;  // of each rank
  std::vector<Nanos> starts_;
  std::vector<std::uint32_t> order_;
  std::map<std::uint32_t, std::uint32_t> hanging_;  // by rank: its first call without an end
};

}  // namespace

Nanos united_ns(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end());
  Nanos sum_ns = 0;
  Nanos until_ns = INT64_MIN;
  for (const auto& [begin_ns, end_ns] : stretches) {
    if (end_ns > until_ns) add_to(sum_ns, end_ns - std::max(begin_ns, until_ns));
    until_ns = std::max(until_ns, end_ns);
  }
  return sum_ns;
}

void find_waits(JobData& data) {
  WaitFinder(data).run();
}

}  // namespace sonde::detail
