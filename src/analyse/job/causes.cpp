// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Why a rank was late, and for how much time it is to blame.
//
// Between two collectives of a group, ranks of one role do the same. What the late one did longer
// than they did in that stretch is the cause, and as much of the delay is its own. If it was late
// because it waited for somebody else, that one did something longer, and is late elsewhere.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyse/job/blame.h"
#include "analyse/job/job_data.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostPeers = 8;
constexpr std::size_t kMostChased = 500;  // delays whose causes are named
constexpr std::size_t kFarthestBack = 64;
constexpr std::size_t kMostCompared = 4;  // ranks whose steps are compared
constexpr std::size_t kMostStepsCompared = 50;

class CauseFinder {
 public:
  explicit CauseFinder(const JobData& data) : data_(data) {}

  std::vector<Blame> run() {
    blame_.resize(data_.ranks.size());
    index_steps();
    sum_activities();
    is_late_.assign(data_.matches.size(), false);
    for (const Lateness& late : data_.late) is_late_[late.match] = true;
    const std::size_t every = data_.late.size() / kMostChased + 1;
    for (std::size_t i = 0; i < data_.late.size(); ++i)
      for (const std::uint32_t culprit : data_.late[i].culprits)
        chase(data_.late[i], culprit, i % every == 0);
    compare_steps();
    return std::move(blame_);
  }

 private:
  const Member* member_of(const Match& match, std::uint32_t rank) const {
    const std::span<const Member> members = data_.of(match);
    const auto found = std::lower_bound(
        members.begin(), members.end(), rank,
        [](const Member& member, std::uint32_t wanted) { return member.rank < wanted; });
    return found != members.end() && found->rank == rank ? &*found : nullptr;
  }

  // A rank is to blame for what it did longer than others of its role since they were together
  // last, as far as others had to wait for it. Waiting for somebody else is not doing, and neither
  // is a queue of collectives: those that are late in the first of them are to blame.
  void chase(const Lateness& late, std::uint32_t culprit, bool looks) {
    const Member* const member = member_of(data_.matches[late.match], culprit);
    if (member == nullptr || is_late_because_of_another(late, *member)) return;
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

  // Whether a collective is late because the one that it directly follows was. If nobody was late
  // in that one, and the rank did nothing else in it, all its members brought their delay along.
  bool is_late_because_of_another(const Lateness& late, const Member& member) const {
    const RankSummary& rank = data_.ranks[member.rank];
    const std::vector<std::uint32_t>& follows = data_.follows[member.rank];
    std::uint32_t leader = follows[member.record];
    for (; leader != kNoMatch; leader = follows[leader]) {
      const std::uint32_t m = data_.match_of[member.rank][leader];
      if (m == kNoMatch || is_late_[m]) return true;
      const Match& match = data_.matches[m];
      const RankCollective& record = rank.collectives[leader];
      if (!match.is_usable() || data_.kinds[match.kind].of != CollectiveClass::All ||
          match.group == data_.matches[late.match].group ||
          record.hidden_ns * 2 > record.duration_ns())
        return true;
    }
    return false;
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
    // A stretch may hold delays that others had already waited for elsewhere. What it did for a
    // shorter time counts too: the same work may be within another range on others.
    Nanos extra_ns = 0;
    for (const auto& [key, sum] : causes) add_to(extra_ns, sum.extra_ns);
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

  // Compared with one other, the one in the middle: what each activity usually takes would not add
  // up to what they take together.
  std::map<CauseKey, CauseSum> differences(const Stretches& stretches) const {
    std::map<CauseKey, CauseSum> found;
    for (const auto& [key, ns] : profile(stretches.own)) found[key].own_ns = ns;
    for (const auto& [key, ns] : profile(in_the_middle(stretches.others)))
      found[key].others_ns = ns;
    for (auto& [key, sum] : found) sum.extra_ns = sum.own_ns - sum.others_ns;
    return found;
  }

  const OfRank& in_the_middle(const std::vector<OfRank>& others) const {
    std::vector<std::pair<Nanos, std::size_t>> order;
    order.reserve(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) order.emplace_back(doing_ns(others[i]), i);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    std::nth_element(order.begin(), middle, order.end());
    return others[middle->second];
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

  // Kernels go on while a collective waits, so what ranks did between two of them differs although
  // they do the same in a step. So the steps in which a rank was late are compared as a whole, of
  // those ranks that are most to blame.
  void compare_steps() {
    std::vector<std::pair<Nanos, std::uint32_t>> worst;
    for (std::uint32_t r = 0; r < blame_.size(); ++r)
      if (!blame_[r].steps.empty()) worst.emplace_back(-united_ns(blame_[r].delays), r);
    std::sort(worst.begin(), worst.end());
    if (worst.size() > kMostCompared) worst.resize(kMostCompared);
    for (const auto& [ns, r] : worst) compare_steps_of(r);
  }

  void compare_steps_of(std::uint32_t r) {
    Blame& blame = blame_[r];
    const std::vector<std::uint32_t> peers = of_same_role(r);
    const std::size_t every = blame.steps.size() / kMostStepsCompared + 1;
    std::size_t place = 0;
    for (const std::int64_t number : blame.steps) {
      if (place++ % every != 0) continue;
      const auto own = step_of(r, number);
      Stretches stretches;
      for (const std::uint32_t peer : peers)
        if (const auto other = step_of(peer, number)) stretches.others.push_back(*other);
      if (!own || stretches.others.empty()) continue;
      stretches.own = *own;
      for (const auto& [key, sum] : differences(stretches)) {
        CauseSum& all = blame.step_causes[key];
        add_to(all.extra_ns, sum.extra_ns);
        add_to(all.own_ns, sum.own_ns);
        add_to(all.others_ns, sum.others_ns);
        add_to(blame.step_longer_ns, sum.extra_ns);
      }
      add_to(blame.step_delay_ns, delay_within(r, *own));
    }
  }

  std::optional<OfRank> step_of(std::uint32_t r, std::int64_t number) const {
    for (const RankStep& step : data_.ranks[r].steps)
      if (step.number == number) return OfRank{r, step.begin_ns, step.end_ns};
    return std::nullopt;
  }

  Nanos delay_within(std::uint32_t r, const OfRank& step) const {
    const Nanos begin_ns = data_.on_job_clock(r, step.from_ns);
    const Nanos end_ns = data_.on_job_clock(r, step.to_ns);
    std::vector<Stretch> within;
    for (const Stretch& delay : blame_[r].delays)
      if (delay.second > begin_ns && delay.second <= end_ns) within.push_back(delay);
    return united_ns(std::move(within));
  }

  const JobData& data_;
  std::vector<std::vector<std::uint32_t>> first_of_step_;  // of each rank and step: its first call
  std::vector<std::vector<Nanos>> doing_;  // of each rank: until the begin of each activity
  std::vector<bool> is_late_;              // of each match: somebody was
  std::vector<Blame> blame_;               // of each rank
};

}  // namespace

std::vector<Blame> find_blame(const JobData& data) {
  return CauseFinder(data).run();
}

void find_causes(JobData& data) {
  measure_job_steps(data);
  judge_job(data, find_blame(data));
}

}  // namespace sonde::detail
