// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Why a rank was late, and for how much time it is to blame.
//
// Between two collectives of a group, ranks of one role do the same. What the late one did longer
// than they did in that stretch is the cause, and as much of the delay is its own. If it was late
// because it waited for somebody else, that one did something longer, and is late elsewhere.

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analyse/job/job_data.h"
#include "analyse/sum.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostPeers = 8;
constexpr std::size_t kMostChased = 500;  // delays whose causes are named
constexpr std::size_t kFarthestBack = 64;
constexpr double kLeastShare = 0.05;  // of the job's time, for a verdict
constexpr double kLeastSuspect = 0.01;
constexpr double kExplained = 0.8;
constexpr double kClearlyWorst = 2;
constexpr double kOnceIsEnough = 10;  // times the noise, for one or two delays

using CauseKey =
    std::tuple<ActivityKind, std::string, std::string, std::string>;  // name, op, range

struct CauseSum {
  Nanos extra_ns = 0;
  Nanos own_ns = 0;
  Nanos others_ns = 0;
};

struct Blame {
  std::vector<Stretch> delays;
  std::map<CauseKey, CauseSum> causes;
  std::set<std::uint32_t> matches;
  std::set<std::int64_t> steps;
  Nanos worst_ns = 0;
  Nanos chased_ns = 0;
  std::map<std::uint32_t, Nanos> together;  // ranks that were late with it, and how long
};

class CauseFinder {
 public:
  explicit CauseFinder(JobData& data) : data_(data) {}

  void run() {
    measure_steps();
    blame_.resize(data_.ranks.size());
    index_steps();
    sum_activities();
    const std::size_t every = data_.late.size() / kMostChased + 1;
    for (std::size_t i = 0; i < data_.late.size(); ++i)
      for (const std::uint32_t culprit : data_.late[i].culprits)
        chase(data_.late[i], culprit, i % every == 0);
    add_up();
    judge();
  }

 private:
  // ---- time of the job ----

  void measure_steps() {
    std::map<std::int64_t, std::vector<JobStepRank>> steps;
    for (const RankSummary& rank : data_.ranks)
      for (const RankStep& step : rank.steps)
        steps[step.number].push_back(
            {.rank = rank.rank, .duration_ns = step.end_ns - step.begin_ns});
    std::vector<double> durations;
    for (auto& [number, ranks] : steps) {
      JobStep step;
      step.number = number;
      std::vector<double> of_ranks;
      for (const JobStepRank& one : ranks) of_ranks.push_back(static_cast<double>(one.duration_ns));
      step.duration_ns = static_cast<Nanos>(median(of_ranks));
      step.ranks = std::move(ranks);
      durations.push_back(static_cast<double>(step.duration_ns));
      add_to(data_.report.total_ns, step.duration_ns);
      data_.report.steps.push_back(std::move(step));
    }
    data_.report.step_ns = static_cast<Nanos>(median(durations));
    std::vector<double> spread = durations;
    const double usual = deviation(spread);
    for (JobStep& step : data_.report.steps)
      step.is_outlier = durations.size() > 3 &&
                        static_cast<double>(step.duration_ns - data_.report.step_ns) >
                            std::max(4 * usual, 0.1 * static_cast<double>(data_.report.step_ns));
    add_step_waits();
    if (data_.report.total_ns > 0) return;
    for (const RankSummary& rank : data_.ranks)
      data_.report.total_ns = std::max(data_.report.total_ns, rank.last_ns - rank.first_ns);
  }

  void add_step_waits() {
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<Stretch>> waits;
    for (const Match& match : data_.matches) {
      if (!match.is_usable() || data_.kinds[match.kind].of == CollectiveClass::Send) continue;
      Nanos last_ns = INT64_MIN;
      for (const Member& member : data_.of(match))
        last_ns = std::max(last_ns, data_.start_of(member));
      for (const Member& member : data_.of(match)) {
        const std::uint32_t step = data_.record(member).step;
        if (step == RankCollective::kNoStep) continue;
        const RankSummary& rank = data_.ranks[member.rank];
        waits[{rank.steps[step].number, rank.rank}].emplace_back(data_.start_of(member), last_ns);
      }
    }
    for (JobStep& step : data_.report.steps)
      for (JobStepRank& rank : step.ranks)
        rank.wait_ns = united_ns(std::move(waits[{step.number, rank.rank}]));
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      Nanos sum_ns = 0;
      for (const RankStep& step : data_.ranks[r].steps) add_to(sum_ns, step.end_ns - step.begin_ns);
      if (!data_.ranks[r].steps.empty())
        data_.report.ranks[r].mean_step_ns =
            sum_ns / static_cast<Nanos>(data_.ranks[r].steps.size());
    }
  }

  // ---- blame ----

  const Member* member_of(const Match& match, std::uint32_t rank) const {
    const std::span<const Member> members = data_.of(match);
    const auto found = std::lower_bound(
        members.begin(), members.end(), rank,
        [](const Member& member, std::uint32_t wanted) { return member.rank < wanted; });
    return found != members.end() && found->rank == rank ? &*found : nullptr;
  }

  // A rank is to blame for what it did longer than others of its role since they were together
  // last, as far as others had to wait for it. Waiting for somebody else is not doing.
  void chase(const Lateness& late, std::uint32_t culprit, bool looks) {
    const Member* const member = member_of(data_.matches[late.match], culprit);
    if (member == nullptr) return;
    const Stretches stretches = stretches_to(late, culprit);
    Nanos own_ns = late.late_ns;
    if (!stretches.others.empty()) {
      own_ns =
          std::min(own_ns, longer_ns(stretches) - already_blamed(*member, stretches.own.from_ns));
    } else if (data_.kinds[data_.matches[late.match].kind].of == CollectiveClass::Send) {
      return;  // nobody to compare with
    } else {
      own_ns -= already_blamed(*member, data_.record(*member).start_ns - late.late_ns);
    }
    if (own_ns <= 0) return;
    std::map<CauseKey, CauseSum> causes;
    Nanos looked_ns = own_ns;
    if (looks && !stretches.others.empty()) {
      causes = differences(stretches);
    } else if (looks) {
      causes = last_activities(late, culprit);
      looked_ns = std::min(own_ns, recorded(causes));
    }
    add_blame(late, *member, own_ns, looked_ns, causes, looks);
  }

  // A part of a rank's recording, on its own clock.
  struct OfRank {
    std::uint32_t rank = 0;
    Nanos from_ns = 0;
    Nanos to_ns = 0;
  };
  // The same part on the late rank and on others of its role.
  struct Stretches {
    OfRank own;
    std::vector<OfRank> others;
  };

  Stretches stretches_to(const Lateness& late, std::uint32_t culprit) const {
    const Match& match = data_.matches[late.match];
    const bool is_p2p = data_.kinds[match.kind].of == CollectiveClass::Send;
    Stretches found;
    const std::vector<std::uint32_t> peers =
        is_p2p ? of_same_role(culprit) : peers_of(late, culprit);
    if (!is_p2p) {
      if (const auto before = before_all(late, culprit, peers)) {
        found.own = between(culprit, *before, late.match);
        for (const std::uint32_t peer : peers)
          if (is_before(data_.matches[*before], match, peer))
            found.others.push_back(between(peer, *before, late.match));
        return found;
      }
    }
    // From the begin of the step.
    const std::uint32_t record = member_of(match, culprit)->record;
    const RankSummary& rank = data_.ranks[culprit];
    const std::uint32_t step = rank.collectives[record].step;
    if (step == RankCollective::kNoStep) return found;
    found.own = {culprit, rank.steps[step].begin_ns, rank.collectives[record].start_ns};
    for (const std::uint32_t peer : peers)
      if (const auto same = same_in_step(culprit, record, peer)) found.others.push_back(*same);
    return found;
  }

  // From the begin of the step to the call that is the same on another rank of the role.
  std::optional<OfRank> same_in_step(std::uint32_t r, std::uint32_t record,
                                     std::uint32_t peer) const {
    const RankSummary& rank = data_.ranks[r];
    const RankSummary& other = data_.ranks[peer];
    const std::uint32_t step = rank.collectives[record].step;
    const auto same = std::find_if(other.steps.begin(), other.steps.end(), [&](const RankStep& of) {
      return of.number == rank.steps[step].number;
    });
    if (same == other.steps.end()) return std::nullopt;
    const auto other_step = static_cast<std::uint32_t>(same - other.steps.begin());
    const std::uint32_t at = first_of_step_[peer][other_step] + record - first_of_step_[r][step];
    if (at >= other.collectives.size() || other.collectives[at].step != other_step)
      return std::nullopt;
    const RankCollective& call = other.collectives[at];
    const CollectiveKind& kind = other.kinds[call.kind];
    const CollectiveKind& wanted = rank.kinds[rank.collectives[record].kind];
    if (kind.of != wanted.of || other.text(kind.name) != rank.text(wanted.name))
      return std::nullopt;
    return OfRank{peer, same->begin_ns, call.start_ns};
  }

  void index_steps() {
    first_of_step_.resize(data_.ranks.size());
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      const RankSummary& rank = data_.ranks[r];
      first_of_step_[r].assign(rank.steps.size(), UINT32_MAX);
      for (std::uint32_t i = 0; i < rank.collectives.size(); ++i)
        if (rank.collectives[i].step != RankCollective::kNoStep)
          first_of_step_[r][rank.collectives[i].step] =
              std::min(first_of_step_[r][rank.collectives[i].step], i);
    }
  }

  // Some of those that do the same, evenly chosen.
  std::vector<std::uint32_t> of_same_role(std::uint32_t culprit) const {
    const std::vector<std::uint32_t>& all = data_.of_role.at(data_.roles[culprit]);
    std::vector<std::uint32_t> some;
    const std::size_t every = all.size() / kMostPeers + 1;
    for (std::size_t i = 0; i < all.size(); i += every)
      if (all[i] != culprit) some.push_back(all[i]);
    return some;
  }

  // Those of its role that were in time, or else any that were.
  std::vector<std::uint32_t> peers_of(const Lateness& late, std::uint32_t culprit) const {
    std::vector<std::uint32_t> peers;
    for (const Member& member : data_.of(data_.matches[late.match]))
      if (data_.roles[member.rank] == data_.roles[culprit] && member.rank != culprit &&
          std::find(late.culprits.begin(), late.culprits.end(), member.rank) == late.culprits.end())
        peers.push_back(member.rank);
    if (peers.empty()) return late.others;
    const std::size_t every = peers.size() / kMostPeers + 1;
    std::vector<std::uint32_t> some;
    for (std::size_t i = 0; i < peers.size(); i += every) some.push_back(peers[i]);
    return some;
  }

  // A delay that others have waited for in an earlier collective is late again in the next one of
  // another group. It counts once.
  Nanos already_blamed(const Member& member, Nanos local_from_ns) const {
    const Nanos arrival_ns = data_.start_of(member);
    const Nanos from_ns = data_.on_job_clock(member.rank, local_from_ns);
    const std::vector<Stretch>& delays = blame_[member.rank].delays;
    std::vector<Stretch> within;
    for (auto one = delays.rbegin(); one != delays.rend(); ++one) {
      if (one->second <= from_ns) break;  // they are by end
      if (one->first < arrival_ns)
        within.emplace_back(std::max(one->first, from_ns), std::min(one->second, arrival_ns));
    }
    return united_ns(std::move(within));
  }

  // How long a rank did something, and did not only wait.
  Nanos doing_ns(const OfRank& stretch) const {
    const std::vector<RankActivity>& all = data_.ranks[stretch.rank].activities;
    const std::vector<Nanos>& sums = doing_[stretch.rank];
    const auto at = [&](Nanos time_ns) {
      const auto next =
          std::lower_bound(all.begin(), all.end(), time_ns,
                           [](const RankActivity& one, Nanos t) { return one.end_ns <= t; });
      Nanos ns = sums[static_cast<std::size_t>(next - all.begin())];
      if (next != all.end() && is_doing(*next)) ns += std::max<Nanos>(time_ns - next->begin_ns, 0);
      return ns;
    };
    return at(stretch.to_ns) - at(stretch.from_ns);
  }

  static bool is_doing(const RankActivity& one) {
    return one.kind != ActivityKind::Collective && one.kind != ActivityKind::Wait;
  }

  void sum_activities() {
    doing_.resize(data_.ranks.size());
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      Nanos sum_ns = 0;
      doing_[r].reserve(data_.ranks[r].activities.size() + 1);
      doing_[r].push_back(0);
      for (const RankActivity& one : data_.ranks[r].activities) {
        if (is_doing(one)) add_to(sum_ns, one.length_ns());
        doing_[r].push_back(sum_ns);
      }
    }
  }

  Nanos longer_ns(const Stretches& stretches) const {
    std::vector<double> of_others;
    of_others.reserve(stretches.others.size());
    for (const OfRank& other : stretches.others)
      of_others.push_back(static_cast<double>(doing_ns(other)));
    return doing_ns(stretches.own) - static_cast<Nanos>(median(of_others));
  }

  // A recording that begins in the middle of a delay shows only the rest of it.
  static Nanos recorded(const std::map<CauseKey, CauseSum>& causes) {
    Nanos sum_ns = 0;
    for (const auto& [key, sum] : causes) add_to(sum_ns, sum.own_ns);
    return sum_ns;
  }

  void add_blame(const Lateness& late, const Member& member, Nanos own_ns, Nanos looked_ns,
                 const std::map<CauseKey, CauseSum>& causes, bool looks) {
    Blame& blame = blame_[member.rank];
    const Nanos arrival_ns = data_.start_of(member);
    blame.delays.emplace_back(arrival_ns - own_ns, arrival_ns);
    blame.matches.insert(late.match);
    blame.worst_ns = std::max(blame.worst_ns, own_ns);
    const std::uint32_t step = data_.record(member).step;
    if (step != RankCollective::kNoStep)
      blame.steps.insert(data_.ranks[member.rank].steps[step].number);
    for (const std::uint32_t other : late.culprits)
      if (other != member.rank) add_to(blame.together[other], own_ns);
    if (!looks) return;
    add_to(blame.chased_ns, looked_ns);
    // A stretch may hold delays that others had already waited for elsewhere.
    Nanos extra_ns = 0;
    for (const auto& [key, sum] : causes) add_to(extra_ns, std::max<Nanos>(sum.extra_ns, 0));
    const double part =
        extra_ns > own_ns ? static_cast<double>(own_ns) / static_cast<double>(extra_ns) : 1;
    const auto scaled = [part](Nanos ns) {
      return static_cast<Nanos>(part * static_cast<double>(ns));
    };
    for (const auto& [key, sum] : causes) {
      CauseSum& all = blame.causes[key];
      add_to(all.extra_ns, scaled(sum.extra_ns));
      add_to(all.own_ns, scaled(sum.own_ns));
      add_to(all.others_ns, scaled(sum.others_ns));
    }
  }

  // The last collective of the group that it and most others had left before they came to this one.
  std::optional<std::uint32_t> before_all(const Lateness& late, std::uint32_t culprit,
                                          const std::vector<std::uint32_t>& peers) const {
    const Match& match = data_.matches[late.match];
    for (std::uint32_t back = 1; back <= kFarthestBack && back <= late.match; ++back) {
      const Match& earlier = data_.matches[late.match - back];
      if (earlier.group != match.group) return std::nullopt;
      if (!earlier.is_usable() || data_.kinds[earlier.kind].of != CollectiveClass::All) continue;
      if (!is_before(earlier, match, culprit)) continue;
      const auto have = std::count_if(peers.begin(), peers.end(), [&](std::uint32_t peer) {
        return is_before(earlier, match, peer);
      });
      if (static_cast<std::size_t>(have) * 2 > peers.size()) return late.match - back;
    }
    return std::nullopt;
  }

  bool is_before(const Match& earlier, const Match& later, std::uint32_t rank) const {
    const Member* const a = member_of(earlier, rank);
    const Member* const b = member_of(later, rank);
    return a != nullptr && b != nullptr && data_.record(*a).end_ns <= data_.record(*b).start_ns;
  }

  // From arrival to arrival: while it waits in the first, a rank may already do what comes next.
  OfRank between(std::uint32_t r, std::uint32_t before, std::uint32_t until) const {
    return {r, data_.record(*member_of(data_.matches[before], r)).start_ns,
            data_.record(*member_of(data_.matches[until], r)).start_ns};
  }

  using Profile = std::map<CauseKey, Nanos>;

  // What a rank did from one time to another, by name.
  Profile profile(const OfRank& stretch) const {
    Profile sums;
    const RankSummary& rank = data_.ranks[stretch.rank];
    const std::vector<RankActivity>& all = rank.activities;
    auto one = std::lower_bound(all.begin(), all.end(), stretch.from_ns,
                                [](const RankActivity& a, Nanos t) { return a.end_ns <= t; });
    for (; one != all.end() && one->begin_ns < stretch.to_ns; ++one) {
      const Nanos ns =
          std::min(one->end_ns, stretch.to_ns) - std::max(one->begin_ns, stretch.from_ns);
      if (ns <= 0 || !is_doing(*one)) continue;
      add_to(sums[{one->kind, std::string(rank.text(one->name)), std::string(rank.text(one->op)),
                   std::string(rank.text(one->range))}],
             ns);
    }
    return sums;
  }

  std::map<CauseKey, CauseSum> differences(const Stretches& stretches) const {
    std::map<CauseKey, CauseSum> found;
    for (const auto& [key, ns] : profile(stretches.own)) found[key].own_ns = ns;
    std::map<CauseKey, std::vector<double>> of_others;
    for (const OfRank& other : stretches.others)
      for (const auto& [key, ns] : profile(other))
        of_others[key].push_back(static_cast<double>(ns));
    for (auto& [key, values] : of_others) {
      values.resize(stretches.others.size(), 0);
      found[key].others_ns = static_cast<Nanos>(median(values));
    }
    for (auto& [key, sum] : found) sum.extra_ns = sum.own_ns - sum.others_ns;
    return found;
  }

  // Where there is nothing to compare with: what it did while the others waited.
  std::map<CauseKey, CauseSum> last_activities(const Lateness& late, std::uint32_t culprit) const {
    std::map<CauseKey, CauseSum> found;
    const Member* const member = member_of(data_.matches[late.match], culprit);
    const Nanos until_ns = data_.record(*member).start_ns;
    for (const auto& [key, ns] : profile({culprit, until_ns - late.late_ns, until_ns}))
      found[key] = {ns, ns, 0};
    return found;
  }

  // ---- verdict ----

  void add_up() {
    for (std::size_t r = 0; r < blame_.size(); ++r)
      data_.report.ranks[r].caused_ns = united_ns(blame_[r].delays);
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<Stretch>> by_step;
    for (std::size_t r = 0; r < blame_.size(); ++r)
      for (std::size_t i = 0; i < blame_[r].delays.size(); ++i) {
        const Nanos end_ns = blame_[r].delays[i].second;
        const RankSummary& rank = data_.ranks[r];
        for (const RankStep& step : rank.steps)
          if (data_.on_job_clock(static_cast<std::uint32_t>(r), step.begin_ns) <= end_ns &&
              end_ns <= data_.on_job_clock(static_cast<std::uint32_t>(r), step.end_ns))
            by_step[{step.number, rank.rank}].push_back(blame_[r].delays[i]);
      }
    for (JobStep& step : data_.report.steps)
      for (JobStepRank& rank : step.ranks) {
        const auto found = by_step.find({step.number, rank.rank});
        if (found != by_step.end()) rank.caused_ns = united_ns(found->second);
      }
  }

  void judge() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t r = 0; r < blame_.size(); ++r)
      if (!blame_[r].delays.empty()) order.push_back(r);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return caused(a) > caused(b); });
    const auto total = static_cast<double>(std::max<Nanos>(data_.report.total_ns, 1));
    std::set<std::uint32_t> told;
    for (const std::uint32_t r : order) {
      if (told.contains(r) || static_cast<double>(caused(r)) / total < kLeastSuspect) continue;
      JobVerdict verdict = verdict_on(r, order);
      for (const std::int32_t rank : verdict.ranks) told.insert(place_of(rank));
      data_.report.suspects.push_back(std::move(verdict));
    }
    std::vector<JobVerdict>& suspects = data_.report.suspects;
    if (suspects.empty() || !is_convincing(suspects.front(), suspects)) return;
    data_.report.verdict = suspects.front();
    suspects.erase(suspects.begin());
  }

  Nanos caused(std::uint32_t r) const { return data_.report.ranks[r].caused_ns; }

  std::uint32_t place_of(std::int32_t rank) const {
    const auto found = std::lower_bound(
        data_.ranks.begin(), data_.ranks.end(), rank,
        [](const RankSummary& one, std::int32_t wanted) { return one.rank < wanted; });
    return static_cast<std::uint32_t>(found - data_.ranks.begin());
  }

  bool is_convincing(const JobVerdict& first, const std::vector<JobVerdict>& all) const {
    if (first.share < kLeastShare) return false;
    if (all.size() > 1 &&
        static_cast<double>(first.total_ns) < kClearlyWorst * static_cast<double>(all[1].total_ns))
      return false;
    const std::uint64_t occasions = data_.report.steps.empty() ? first.times : first.steps;
    const auto noise = static_cast<double>(std::max<Nanos>(data_.report.noise_ns, 1));
    const Blame& blame = blame_[place_of(first.rank)];
    const bool is_often =
        occasions > 2 || (occasions > 1 && occasions * 3 >= data_.report.steps.size());
    return is_often || static_cast<double>(blame.worst_ns) > kOnceIsEnough * noise;
  }

  JobVerdict verdict_on(std::uint32_t r, const std::vector<std::uint32_t>& order) const {
    const Blame& blame = blame_[r];
    JobVerdict verdict;
    verdict.rank = data_.ranks[r].rank;
    verdict.ranks.push_back(verdict.rank);
    for (const std::uint32_t other : order) {
      const auto found = blame.together.find(other);
      if (other != r && found != blame.together.end() && found->second * 2 > caused(r) &&
          caused(other) * 2 > caused(r))
        verdict.ranks.push_back(data_.ranks[other].rank);
    }
    verdict.host = host_of(verdict.ranks);
    verdict.total_ns = caused(r);
    verdict.share = static_cast<double>(verdict.total_ns) /
                    static_cast<double>(std::max<Nanos>(data_.report.total_ns, 1));
    verdict.times = blame.matches.size();
    verdict.steps = blame.steps.size();
    if (!data_.report.steps.empty())
      verdict.per_step_ns = verdict.total_ns / static_cast<Nanos>(data_.report.steps.size());
    name_causes(blame, verdict);
    return verdict;
  }

  // The host whose ranks these are, if they are all of it and not all of the job.
  std::string host_of(const std::vector<std::int32_t>& ranks) const {
    if (ranks.size() < 2 || ranks.size() == data_.ranks.size()) return "";
    const std::string& host = data_.ranks[place_of(ranks.front())].host;
    if (host.empty()) return "";
    for (const RankSummary& rank : data_.ranks) {
      const bool is_one = std::find(ranks.begin(), ranks.end(), rank.rank) != ranks.end();
      if (is_one != (rank.host == host)) return "";
    }
    return host;
  }

  // From the finest to the coarsest; the first that explains enough is named.
  void name_causes(const Blame& blame, JobVerdict& verdict) const {
    if (blame.chased_ns <= 0) return;
    const auto whole = static_cast<double>(blame.chased_ns);
    const auto finest = [](const CauseKey& key) { return key; };
    verdict.causes = summed(blame, whole, finest);
    if (verdict.causes.size() > 8) verdict.causes.resize(8);
    const auto by_name = [](const CauseKey& key) {
      return CauseKey{std::get<0>(key), std::get<1>(key), "", ""};
    };
    const auto by_op = [](const CauseKey& key) {
      return CauseKey{std::get<0>(key), "", std::get<2>(key), ""};
    };
    const auto by_range = [](const CauseKey& key) {
      return CauseKey{ActivityKind::Range, std::get<3>(key), "", std::get<3>(key)};
    };
    const auto by_kind = [](const CauseKey& key) { return CauseKey{std::get<0>(key), "", "", ""}; };
    if (name_with(blame, whole, finest, verdict) || name_with(blame, whole, by_name, verdict) ||
        name_with(blame, whole, by_op, verdict) || name_with(blame, whole, by_range, verdict))
      return;
    const std::vector<JobCause> kinds = summed(blame, whole, by_kind);
    if (kinds.empty() || kinds.front().share < kExplained) return;
    verdict.cause = kinds.front().cause;
    verdict.name = kinds.front().kind == ActivityKind::Kernel     ? "all kernels"
                   : kinds.front().kind == ActivityKind::Copy     ? "all copies"
                   : kinds.front().kind == ActivityKind::Operator ? "all operators"
                                                                  : kinds.front().name;
  }

  template <typename Fold>
  bool name_with(const Blame& blame, double whole, Fold fold, JobVerdict& verdict) const {
    for (const JobCause& cause : summed(blame, whole, fold)) {
      if (cause.share < kExplained) return false;
      if (cause.name.empty() && cause.op.empty() && cause.kind != ActivityKind::Unmarked) continue;
      verdict.cause = cause.cause;
      verdict.name = cause.name.empty() ? cause.op : cause.name;
      verdict.op = cause.op;
      verdict.range = cause.range;
      return true;
    }
    return false;
  }

  template <typename Fold>
  static std::vector<JobCause> summed(const Blame& blame, double whole, Fold fold) {
    std::map<CauseKey, CauseSum> sums;
    for (const auto& [key, sum] : blame.causes) {
      CauseSum& all = sums[fold(key)];
      add_to(all.extra_ns, sum.extra_ns);
      add_to(all.own_ns, sum.own_ns);
      add_to(all.others_ns, sum.others_ns);
    }
    std::vector<JobCause> causes;
    for (const auto& [key, sum] : sums) {
      if (sum.extra_ns <= 0) continue;
      JobCause cause;
      std::tie(cause.kind, cause.name, cause.op, cause.range) = key;
      cause.cause = word_of(cause);
      if (cause.kind == ActivityKind::Unmarked && cause.name.empty())
        cause.name = "code outside all recorded ranges";
      cause.extra_ns = sum.extra_ns;
      cause.own_ns = sum.own_ns;
      cause.others_ns = sum.others_ns;
      cause.share = std::min(1.0, static_cast<double>(sum.extra_ns) / whole);
      causes.push_back(std::move(cause));
    }
    std::stable_sort(causes.begin(), causes.end(),
                     [](const JobCause& a, const JobCause& b) { return a.extra_ns > b.extra_ns; });
    return causes;
  }

  static std::string word_of(const JobCause& cause) {
    switch (cause.kind) {
      case ActivityKind::Kernel:
        return "kernel";
      case ActivityKind::Copy:
        return "copy";
      case ActivityKind::Wait:
        return "device_wait";
      case ActivityKind::Collective:
        return "collective";
      case ActivityKind::Operator:
      case ActivityKind::Range:
      case ActivityKind::Unmarked:
        break;
    }
    if (says(cause.name, {"garbage", "gc.collect", "gc_collect", "python gc", "gc pause"}) ||
        says(cause.range, {"garbage", "gc.collect", "gc_collect", "python gc"}) ||
        cause.name == "gc")
      return "gc";
    if (says(cause.name,
             {"loader", "load_batch", "load_data", "data_load", "next_batch", "get_batch"}) ||
        says(cause.range,
             {"loader", "load_batch", "load_data", "data_load", "next_batch", "get_batch"}))
      return "data_loading";
    return cause.kind == ActivityKind::Operator ? "operator" : "host";
  }

  static bool says(const std::string& name, std::initializer_list<std::string_view> words) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return lower.find(word) != std::string::npos;
    });
  }

  JobData& data_;
  std::vector<std::vector<std::uint32_t>> first_of_step_;  // of each rank and step: its first call
  std::vector<std::vector<Nanos>> doing_;  // of each rank: until the begin of each activity
  std::vector<Blame> blame_;               // of each rank
};

}  // namespace

void find_causes(JobData& data) {
  CauseFinder(data).run();
}

}  // namespace sonde::detail
