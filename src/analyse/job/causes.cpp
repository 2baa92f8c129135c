// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Why a rank was late, and for how much time it is to blame.
//
// Between two collectives of a group all members do the same. What the late one did longer than the
// others in that stretch is the cause. If it waited in a collective of another group meanwhile, the
// blame goes on to whoever was late there.

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "analyse/job/job_data.h"
#include "analyse/sum.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

constexpr int kDeepestChase = 64;
constexpr std::size_t kMostChased = 4000;
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
    const std::size_t every = data_.late.size() / kMostChased + 1;
    for (std::size_t i = 0; i < data_.late.size(); ++i) {
      const Lateness& late = data_.late[i];
      by_match_[late.match] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 0; i < data_.late.size(); ++i)
      for (const std::uint32_t culprit : data_.late[i].culprits)
        chase(data_.late[i], culprit, data_.late[i].late_ns, i % every == 0, 0);
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

  void chase(const Lateness& late, std::uint32_t culprit, Nanos late_ns, bool looks, int depth) {
    const Member* const member = member_of(data_.matches[late.match], culprit);
    if (member == nullptr || late_ns <= 0) return;
    std::map<CauseKey, CauseSum> causes;
    Nanos own_ns = late_ns;
    Nanos looked_ns = INT64_MAX;
    if (looks) {
      const std::optional<std::uint32_t> before = before_all(late, culprit);
      looks = looked_at_.emplace(culprit, before.value_or(kNoMatch)).second;
      causes = before ? differences(late, culprit, *before) : last_activities(late, culprit);
      if (!before) looked_ns = recorded(causes);
      own_ns -= pass_on(late, culprit, before, late_ns, depth);
    }
    own_ns -= already_blamed(late, *member, late_ns);
    if (own_ns <= 0) return;
    add_blame(late, *member, own_ns, std::min(own_ns, looked_ns), causes, looks);
  }

  // A delay that others have waited for in an earlier collective is late again in the next one of
  // another group. It counts once.
  Nanos already_blamed(const Lateness& late, const Member& member, Nanos late_ns) const {
    const Nanos arrival_ns = data_.start_of(member);
    Nanos from_ns = arrival_ns - late_ns;
    if (const auto before = before_all(late, member.rank))
      from_ns = std::min(from_ns, data_.end_of(*member_of(data_.matches[*before], member.rank)));
    std::vector<Stretch> within;
    for (const auto& [begin_ns, end_ns] : blame_[member.rank].delays)
      if (end_ns > from_ns && begin_ns < arrival_ns)
        within.emplace_back(std::max(begin_ns, from_ns), std::min(end_ns, arrival_ns));
    return united_ns(std::move(within));
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
  std::optional<std::uint32_t> before_all(const Lateness& late, std::uint32_t culprit) const {
    const Match& match = data_.matches[late.match];
    for (std::uint32_t back = 1; back <= kFarthestBack && back <= late.match; ++back) {
      const Match& earlier = data_.matches[late.match - back];
      if (earlier.group != match.group) return std::nullopt;
      if (!earlier.is_usable() || data_.kinds[earlier.kind].of != CollectiveClass::All) continue;
      if (!is_before(earlier, match, culprit)) continue;
      const auto have =
          std::count_if(late.others.begin(), late.others.end(),
                        [&](std::uint32_t other) { return is_before(earlier, match, other); });
      if (static_cast<std::size_t>(have) * 2 > late.others.size()) return late.match - back;
    }
    return std::nullopt;
  }

  bool is_before(const Match& earlier, const Match& later, std::uint32_t rank) const {
    const Member* const a = member_of(earlier, rank);
    const Member* const b = member_of(later, rank);
    return a != nullptr && b != nullptr && data_.record(*a).end_ns <= data_.record(*b).start_ns;
  }

  using Profile = std::map<CauseKey, Nanos>;

  // What a rank did from one time to another, by name. Waits in collectives are not its own.
  Profile profile(std::uint32_t r, Nanos from_ns, Nanos to_ns) const {
    Profile sums;
    for_activities(r, from_ns, to_ns, [&](const RankActivity& one, Nanos ns) {
      if (one.kind == ActivityKind::Collective) return;
      const RankSummary& rank = data_.ranks[r];
      add_to(sums[{one.kind, std::string(rank.text(one.name)), std::string(rank.text(one.op)),
                   std::string(rank.text(one.range))}],
             ns);
    });
    return sums;
  }

  template <typename Visit>
  void for_activities(std::uint32_t r, Nanos from_ns, Nanos to_ns, Visit visit) const {
    const std::vector<RankActivity>& all = data_.ranks[r].activities;
    auto one = std::lower_bound(all.begin(), all.end(), from_ns,
                                [](const RankActivity& a, Nanos t) { return a.end_ns <= t; });
    for (; one != all.end() && one->begin_ns < to_ns; ++one) {
      const Nanos ns = std::min(one->end_ns, to_ns) - std::max(one->begin_ns, from_ns);
      if (ns > 0) visit(*one, ns);
    }
  }

  Profile profile_between(std::uint32_t r, std::uint32_t before, std::uint32_t until) const {
    const Member* const a = member_of(data_.matches[before], r);
    const Member* const b = member_of(data_.matches[until], r);
    return profile(r, data_.record(*a).end_ns, data_.record(*b).start_ns);
  }

  std::map<CauseKey, CauseSum> differences(const Lateness& late, std::uint32_t culprit,
                                           std::uint32_t before) const {
    std::map<CauseKey, CauseSum> found;
    for (const auto& [key, ns] : profile_between(culprit, before, late.match))
      found[key].own_ns = ns;
    std::map<CauseKey, std::vector<double>> of_others;
    std::size_t compared = 0;
    for (const std::uint32_t other : late.others) {
      if (!is_before(data_.matches[before], data_.matches[late.match], other)) continue;
      ++compared;
      for (const auto& [key, ns] : profile_between(other, before, late.match))
        of_others[key].push_back(static_cast<double>(ns));
    }
    for (auto& [key, values] : of_others) {
      values.resize(compared, 0);
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
    for (const auto& [key, ns] : profile(culprit, until_ns - late.late_ns, until_ns))
      found[key] = {ns, ns, 0};
    return found;
  }

  // How much of the lateness the culprit itself had to wait for others, who are blamed instead.
  Nanos pass_on(const Lateness& late, std::uint32_t culprit, std::optional<std::uint32_t> before,
                Nanos late_ns, int depth) {
    if (depth >= kDeepestChase) return 0;
    const Match& match = data_.matches[late.match];
    const Member* const member = member_of(match, culprit);
    const Nanos until_ns = data_.record(*member).start_ns;
    Nanos from_ns = until_ns - late.late_ns;
    if (before) from_ns = data_.record(*member_of(data_.matches[*before], culprit)).end_ns;
    Nanos passed_ns = 0;
    for_activities(culprit, from_ns, until_ns, [&](const RankActivity& one, Nanos ns) {
      if (one.kind != ActivityKind::Collective || passed_ns >= late_ns) return;
      const std::uint32_t m = data_.match_of[culprit][one.name];
      const auto found = m == kNoMatch ? by_match_.end() : by_match_.find(m);
      if (found == by_match_.end() || data_.matches[m].group == match.group) return;
      const Lateness& other = data_.late[found->second];
      if (std::find(other.culprits.begin(), other.culprits.end(), culprit) != other.culprits.end())
        return;
      const Nanos share_ns = std::min({ns, other.late_ns, late_ns - passed_ns});
      for (const std::uint32_t guilty : other.culprits)
        chase(other, guilty, share_ns, true, depth + 1);
      passed_ns += share_ns;
    });
    return passed_ns;
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
  std::map<std::uint32_t, std::uint32_t> by_match_;              // places in JobData::late
  std::set<std::pair<std::uint32_t, std::uint32_t>> looked_at_;  // rank, and where a stretch begins
  std::vector<Blame> blame_;                                     // of each rank
};

}  // namespace

void find_causes(JobData& data) {
  CauseFinder(data).run();
}

}  // namespace sonde::detail
