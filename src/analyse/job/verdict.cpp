// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Who is named, and why: the rank that is to blame for most, if that is enough and clear.

#include <algorithm>
#include <cctype>
#include <optional>

#include "analyse/job/blame.h"
#include "analyse/job/job_data.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

constexpr double kLeastShare = 0.05;  // of the job's time, for a verdict
constexpr double kLeastSuspect = 0.01;
constexpr double kExplained = 0.8;
constexpr double kClearlyWorst = 2;
constexpr double kOnceIsEnough = 10;  // times the noise, for one or two delays

class JobJudge {
 public:
  JobJudge(JobData& data, const std::vector<Blame>& blame) : data_(data), blame_(blame) {}

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

  // A recording that begins when the others already wait does not show what held its rank up.
  void note_late_begins() {
    std::vector<const Match*> first(data_.ranks.size(), nullptr);
    for (std::uint32_t r = 0; r < first.size(); ++r) {
      Nanos start_ns = INT64_MAX;
      for (std::size_t i = 0; i < data_.match_of[r].size(); ++i) {
        const std::uint32_t m = data_.match_of[r][i];
        if (m == kNoMatch || !data_.matches[m].is_usable()) continue;
        if (data_.ranks[r].collectives[i].start_ns >= start_ns) continue;
        start_ns = data_.ranks[r].collectives[i].start_ns;
        first[r] = &data_.matches[m];
      }
    }
    for (std::uint32_t r = 0; r < first.size(); ++r)
      if (first[r] != nullptr) note_late_begin(r, *first[r]);
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

 private:
  void note_late_begin(std::uint32_t r, const Match& match) {
    Nanos own_ns = INT64_MIN;
    Nanos others_ns = INT64_MIN;
    for (const Member& member : data_.of(match)) {
      if (data_.components[member.rank] != data_.components[r]) return;
      Nanos& latest_ns = member.rank == r ? own_ns : others_ns;
      latest_ns = std::max(latest_ns, data_.start_of(member));
    }
    const Nanos begin_ns = data_.on_job_clock(r, data_.ranks[r].first_ns);
    const auto late = static_cast<double>(own_ns) - static_cast<double>(others_ns);
    if (begin_ns <= others_ns ||
        late < kLeastShare * static_cast<double>(std::max<Nanos>(data_.report.total_ns, 1)))
      return;
    data_.report.began_late.push_back(data_.ranks[r].rank);
    data_.report.notes.push_back(format_text(
        "Rank {} came to its first collective {} after all others, and its recording begins only "
        "{} before that: what held it up is not recorded.",
        data_.ranks[r].rank, duration_text(own_ns - others_ns), duration_text(own_ns - begin_ns)));
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
    add_group(r, verdict.ranks);
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

  // The smallest group of the rank whose members are all late at the same times, though in
  // different collectives: they wait for each other.
  void add_group(std::uint32_t r, std::vector<std::int32_t>& ranks) const {
    const JobGroup* best = nullptr;
    for (const JobGroup& group : data_.report.groups) {
      const std::size_t present = group.ranks.size() - group.missing.size();
      if (group.calls == 0 || present < 2 || present * 2 > data_.ranks.size()) continue;
      if (best != nullptr && best->ranks.size() <= group.ranks.size()) continue;
      if (is_late_with(r, group)) best = &group;
    }
    if (best == nullptr) return;
    for (const std::int32_t rank : best->ranks)
      if (is_present(rank) && std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
        ranks.push_back(rank);
  }

  bool is_late_with(std::uint32_t r, const JobGroup& group) const {
    if (!std::binary_search(group.ranks.begin(), group.ranks.end(), data_.ranks[r].rank))
      return false;
    return std::all_of(group.ranks.begin(), group.ranks.end(), [&](std::int32_t rank) {
      const std::uint32_t other = place_of(rank);
      return other == r || !is_present(rank) ||
             (caused(other) * 2 > caused(r) && common_ns(r, other) * 2 > caused(r));
    });
  }

  bool is_present(std::int32_t rank) const {
    const std::uint32_t place = place_of(rank);
    return place < data_.ranks.size() && data_.ranks[place].rank == rank;
  }

  // How long both held others up at the same time.
  Nanos common_ns(std::uint32_t a, std::uint32_t b) const {
    std::vector<Stretch> both = blame_[a].delays;
    both.insert(both.end(), blame_[b].delays.begin(), blame_[b].delays.end());
    return caused(a) + caused(b) - united_ns(std::move(both));
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

  using Causes = std::map<CauseKey, CauseSum>;

  // What it did longer before it was late, or else in the whole steps. The first that explains
  // enough is named, from the finest to the coarsest.
  static void name_causes(const Blame& blame, JobVerdict& verdict) {
    if (blame.chased_ns <= 0) return;
    const auto whole = static_cast<double>(blame.chased_ns);
    // While others wait, they get ahead with what comes next, so that delays in a step may add up
    // to more than was done longer.
    const bool is_enough = blame.step_longer_ns > blame.step_delay_ns / 3;
    const auto whole_steps = static_cast<double>(
        std::max(is_enough ? blame.step_longer_ns : blame.step_delay_ns, Nanos{1}));
    list_causes(blame.causes, whole, verdict);
    if (name_one(blame.causes, whole, verdict)) return;
    if (name_one(blame.step_causes, whole_steps, verdict) ||
        name_sum(blame.step_causes, whole_steps, verdict))
      return list_causes(blame.step_causes, whole_steps, verdict);
    name_sum(blame.causes, whole, verdict);
  }

  static void list_causes(const Causes& causes, double whole, JobVerdict& verdict) {
    verdict.causes = summed(causes, whole, [](const CauseKey& key) { return key; });
    if (verdict.causes.size() > 8) verdict.causes.resize(8);
  }

  static bool name_one(const Causes& causes, double whole, JobVerdict& verdict) {
    const auto finest = [](const CauseKey& key) { return key; };
    const auto by_name = [](const CauseKey& key) {
      return CauseKey{std::get<0>(key), std::get<1>(key), "", ""};
    };
    const auto by_op = [](const CauseKey& key) {
      return CauseKey{std::get<0>(key), "", std::get<2>(key), ""};
    };
    const auto by_range = [](const CauseKey& key) {
      return CauseKey{ActivityKind::Range, std::get<3>(key), "", std::get<3>(key)};
    };
    return name_with(causes, whole, finest, verdict) ||
           name_with(causes, whole, by_name, verdict) || name_with(causes, whole, by_op, verdict) ||
           name_with(causes, whole, by_range, verdict);
  }

  static bool name_sum(const Causes& causes, double whole, JobVerdict& verdict) {
    const auto by_kind = [](const CauseKey& key) { return CauseKey{std::get<0>(key), "", "", ""}; };
    const auto by_side = [](const CauseKey& key) {
      const ActivityKind kind = std::get<0>(key);
      const bool is_device = kind == ActivityKind::Kernel || kind == ActivityKind::Copy;
      return is_device ? CauseKey{ActivityKind::Kernel, "all kernels and copies", "", ""}
                       : CauseKey{ActivityKind::Unmarked, "all code on the host", "", ""};
    };
    return name_sum_with(causes, whole, by_kind, verdict) ||
           name_sum_with(causes, whole, by_side, verdict);
  }

  // Many small things that add up.
  template <typename Fold>
  static bool name_sum_with(const Causes& of, double whole, Fold fold, JobVerdict& verdict) {
    const std::vector<JobCause> sums = summed(of, whole, fold);
    if (sums.empty() || sums.front().share < kExplained) return false;
    const JobCause& sum = sums.front();
    take(sum, verdict);
    if (!sum.name.empty()) return true;
    verdict.name = sum.kind == ActivityKind::Kernel     ? "all kernels"
                   : sum.kind == ActivityKind::Copy     ? "all copies"
                   : sum.kind == ActivityKind::Operator ? "all operators"
                                                        : "all ranges";
    return true;
  }

  static void take(const JobCause& cause, JobVerdict& verdict) {
    verdict.cause = cause.cause;
    verdict.name = cause.name.empty() ? cause.op : cause.name;
    verdict.op = cause.op;
    verdict.range = cause.range;
    verdict.cause_own_ns = cause.own_ns;
    verdict.cause_others_ns = cause.others_ns;
    verdict.cause_share = cause.share;
  }

  template <typename Fold>
  static bool name_with(const Causes& of, double whole, Fold fold, JobVerdict& verdict) {
    for (const JobCause& cause : summed(of, whole, fold)) {
      if (cause.share < kExplained) return false;
      if (cause.name.empty() && cause.op.empty() && cause.kind != ActivityKind::Unmarked) continue;
      take(cause, verdict);
      return true;
    }
    return false;
  }

  template <typename Fold>
  static std::vector<JobCause> summed(const Causes& of, double whole, Fold fold) {
    std::map<CauseKey, CauseSum> sums;
    for (const auto& [key, sum] : of) {
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
    if (collects_garbage(cause.name) || collects_garbage(cause.range)) return "gc";
    if (loads_data(cause.name) || loads_data(cause.range)) return "data_loading";
    return cause.kind == ActivityKind::Operator ? "operator" : "host";
  }

  static bool collects_garbage(const std::string& name) {
    return has_word(name, {"gc", "garbage"}) || name == "<built-in function collect>";
  }

  static bool loads_data(const std::string& name) {
    if (has_word(name, {"loader", "dataloader"})) return true;
    return has_word(name, {"data", "dataset", "batch", "sample", "samples"}) &&
           has_word(name, {"load", "loading", "next", "get", "fetch", "read"});
  }

  // Words of "load_batch", "DataLoader.next" and "PythonGC".
  static bool has_word(const std::string& name, std::initializer_list<std::string_view> words) {
    const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    const auto is_upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
    std::string word;
    for (std::size_t i = 0; i <= name.size(); ++i) {
      const bool goes_on = i < name.size() && is_letter(name[i]);
      const bool begins = goes_on && i > 0 && is_upper(name[i]) && !is_upper(name[i - 1]);
      if (!goes_on || begins) {
        if (std::find(words.begin(), words.end(), word) != words.end()) return true;
        word.clear();
      }
      if (goes_on) word += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
    }
    return false;
  }

  JobData& data_;
  const std::vector<Blame>& blame_;  // of each rank
};

}  // namespace

void judge_job(JobData& data, const std::vector<Blame>& blame) {
  JobJudge judge(data, blame);
  judge.add_up();
  judge.note_late_begins();
  judge.judge();
}

}  // namespace sonde::detail
