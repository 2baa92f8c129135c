// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long the job would take if a rank were like the others. The collectives of all ranks form a
// graph (simulate/graph.h), with what each rank did between them.
//
//   rank 0   --work--|arrives ......... transfer|--work--|
//   rank 1   --------work--------|arrives transfer|-work-|
//   group                        |all are there
//
// A rank's work begins when the work before it is done and the collective that it waited for is
// over. It waited for a collective if no kernel ran when the collective ended; what it did before
// that is a part of its own. A collective that directly follows another one has no work before it:
// it arrives when the other one is over, while kernels go on; but what others of its role did
// before it it has to do as well. Ranks of one role are compared by all that they did up to a call,
// because a call that waits for its stream arrives late although its rank is in time.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "analyse/job/job_data.h"
#include "analyse/simulate/graph.h"
#include "base/format.h"
#include "base/sum.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

constexpr double kLargestError = 0.05;
constexpr double kLeastShareNamed = 0.05;  // of the job's time
// Times are rounded: what follows a collective may seem to begin just before its end.
constexpr Nanos kTouchingNs = 2'000;
constexpr std::size_t kMostMembers = 200'000;  // of a longer job the last steps are replayed
constexpr std::size_t kMostNodesReplayed = 4'000'000;
constexpr std::size_t kMostRanksReplayed = 64;
constexpr std::size_t kFastest = 10;  // one of so many
constexpr double kClearlyLonger = 6;  // times the usual difference of ranks

class JobReplay {
 public:
  explicit JobReplay(JobData& data) : data_(data) {}

  void run() {
    if (!find_window()) return;
    JobSimulation result;
    add_nodes();
    const Graph graph = std::move(builder_).build();
    const auto steps = static_cast<Nanos>(steps_);
    result.measured_step_ns = (window_end_ns_ - window_begin_ns_) / steps;
    result.replayed_step_ns = length_of(graph, graph.durations()) / steps;
    result.error = std::abs(static_cast<double>(result.replayed_step_ns) /
                                static_cast<double>(std::max<Nanos>(result.measured_step_ns, 1)) -
                            1);
    if (result.error > kLargestError)
      return refuse(format_text("its own error is {:.1f} %", 100 * result.error));
    find_usual(graph);
    result.ideal_step_ns = length_of(graph, ideal(graph, true, true)) / steps;
    result.usual_work_step_ns = length_of(graph, ideal(graph, true, false)) / steps;
    result.usual_transfers_step_ns = length_of(graph, ideal(graph, false, true)) / steps;
    result.slowdown = static_cast<double>(result.replayed_step_ns) /
                      static_cast<double>(std::max<Nanos>(result.ideal_step_ns, 1));
    for (const std::uint32_t rank : ranks_to_try(graph.size()))
      result.without.push_back(
          {data_.ranks[rank].rank, length_of(graph, without(graph, {rank})) / steps});
    try_hosts(graph, result);
    if (data_.report.verdict) {
      std::vector<std::uint32_t> late;
      for (std::uint32_t r = 0; r < data_.ranks.size(); ++r)
        if (std::find(data_.report.verdict->ranks.begin(), data_.report.verdict->ranks.end(),
                      data_.ranks[r].rank) != data_.report.verdict->ranks.end())
          late.push_back(r);
      std::vector<Nanos> durations = without(graph, late);
      result.without_culprits_kept_step_ns = length_of(graph, durations) / steps;
      make_fast(graph, late, durations);
      result.without_culprits_step_ns = length_of(graph, std::move(durations)) / steps;
      limit_cost(result);
    }
    result.steps = steps_;
    find_path(graph, result);
    data_.report.replay = std::move(result);
  }

 private:
  // What a rank did between two arrivals, before and after the collective that it waited for.
  struct Work {
    GraphNode before = kNoNode;  // kNoNode: nothing
    GraphNode after = kNoNode;
  };
  struct Transfer {
    GraphNode node = kNoNode;
    std::uint32_t match = kNoMatch;
    std::uint32_t rank = 0;
  };

  void try_hosts(const Graph& graph, JobSimulation& result) const {
    std::map<std::string, std::vector<std::uint32_t>> hosts;
    for (std::uint32_t r = 0; r < data_.ranks.size(); ++r)
      if (!data_.ranks[r].host.empty()) hosts[data_.ranks[r].host].push_back(r);
    if (hosts.size() < 2 || hosts.size() > most_replays(graph.size())) return;
    const auto steps = static_cast<Nanos>(steps_);
    for (const auto& [host, ranks] : hosts)
      result.without_hosts.push_back({host, length_of(graph, without(graph, ranks)) / steps});
  }

  static std::size_t most_replays(std::size_t nodes) {
    return std::clamp<std::size_t>(kMostNodesReplayed / std::max<std::size_t>(nodes, 1), 1,
                                   kMostRanksReplayed);
  }

  void refuse(const std::string& why) { data_.report.replay_refused = why; }

  // What others waited for may have cost the job less, because they would have waited for something
  // else.
  void limit_cost(const JobSimulation& result) {
    if (!data_.report.verdict) return;
    JobVerdict& verdict = *data_.report.verdict;
    const Nanos saved_ns =
        std::max<Nanos>(result.measured_step_ns - result.without_culprits_step_ns, 0);
    if (verdict.per_step_ns <= saved_ns) return;
    const double part = static_cast<double>(saved_ns) /
                        static_cast<double>(std::max<Nanos>(verdict.per_step_ns, 1));
    verdict.per_step_ns = saved_ns;
    verdict.total_ns = static_cast<Nanos>(part * static_cast<double>(verdict.total_ns));
    verdict.share *= part;
    if (verdict.share >= kLeastShareNamed) return;
    // Others hold the job up as much.
    data_.report.suspects.insert(data_.report.suspects.begin(), std::move(verdict));
    data_.report.verdict.reset();
  }

  // The steps that all ranks have, on the job's clock.
  bool find_window() {
    if (data_.ranks.size() < 2) return refuse("there is only one rank"), false;
    std::int64_t first = INT64_MIN;
    std::int64_t last = INT64_MAX;
    for (const RankSummary& rank : data_.ranks) {
      if (rank.steps.empty()) return refuse("not all ranks have steps"), false;
      first = std::max(first, rank.steps.front().number);
      last = std::min(last, rank.steps.back().number);
    }
    if (first > last) return refuse("no step is in all ranks"), false;
    first = shortened(first, last);
    for (std::uint32_t r = 0; r < data_.ranks.size(); ++r) {
      if (data_.components[r] != data_.components.front())
        return refuse("not all ranks are on one clock"), false;
      const Nanos begin_ns = step_begin(r, first);
      const Nanos end_ns = step_end(r, last);
      if (begin_ns == INT64_MIN || end_ns == INT64_MIN) return refuse("a rank lacks a step"), false;
      begin_of_.push_back(begin_ns);
      end_of_.push_back(end_ns);
    }
    window_begin_ns_ = *std::min_element(begin_of_.begin(), begin_of_.end());
    window_end_ns_ = *std::max_element(end_of_.begin(), end_of_.end());
    steps_ = static_cast<std::uint64_t>(last - first + 1);
    return true;
  }

  // Only the last steps, if all steps have too many calls.
  std::int64_t shortened(std::int64_t first, std::int64_t last) const {
    const std::size_t steps = std::max<std::size_t>(data_.report.steps.size(), 1);
    const std::size_t per_step = std::max<std::size_t>(data_.members.size() / steps, 1);
    const auto most = static_cast<std::int64_t>(std::max<std::size_t>(kMostMembers / per_step, 1));
    return last - first < most ? first : last - most + 1;
  }

  Nanos step_begin(std::uint32_t r, std::int64_t number) const {
    for (const RankStep& step : data_.ranks[r].steps)
      if (step.number == number) return data_.on_job_clock(r, step.begin_ns);
    return INT64_MIN;
  }
  Nanos step_end(std::uint32_t r, std::int64_t number) const {
    for (const RankStep& step : data_.ranks[r].steps)
      if (step.number == number) return data_.on_job_clock(r, step.end_ns);
    return INT64_MIN;
  }

  bool is_replayed(const Match& match) const {
    if (!match.is_usable() || data_.kinds[match.kind].of == CollectiveClass::Other) return false;
    for (const Member& member : data_.of(match))
      if (data_.start_of(member) < begin_of_[member.rank] ||
          data_.end_of(member) > end_of_[member.rank])
        return false;
    return true;
  }

  // One arrival of a rank, and the collectives it had waited for since the one before.
  struct Arrival {
    Nanos arrival_ns = 0;
    Nanos end_ns = 0;
    Nanos local_end_ns = 0;
    std::uint32_t match = kNoMatch;
    std::uint32_t record = 0;
  };

  void add_nodes() {
    const auto ranks = static_cast<std::uint32_t>(data_.ranks.size());
    arrivals_.resize(ranks);
    find_host_collectives();
    for (std::uint32_t m = 0; m < data_.matches.size(); ++m) {
      if (!is_replayed(data_.matches[m])) continue;
      for (const Member& member : data_.of(data_.matches[m]))
        arrivals_[member.rank].push_back({data_.start_of(member), data_.end_of(member),
                                          data_.record(member).end_ns, m, member.record});
    }
    for (std::uint32_t r = 0; r < ranks; ++r)
      std::sort(arrivals_[r].begin(), arrivals_[r].end(), [](const Arrival& a, const Arrival& b) {
        return std::pair(a.arrival_ns, a.match) < std::pair(b.arrival_ns, b.match);
      });
    work_of_.resize(ranks);
    transfer_of_.resize(ranks);
    plan_dependencies();
    plan_work_of_followers();
    add_work_and_transfers();
  }

  void find_host_collectives() {
    for (const RankSummary& rank : data_.ranks)
      meets_on_host_.push_back(std::any_of(
          rank.collectives.begin(), rank.collectives.end(),
          [](const RankCollective& one) { return (one.flags & RankCollective::kOnHost) != 0; }));
  }

  Nanos local_of(std::uint32_t r, Nanos job_ns) const {
    const ClockFit& fit = data_.clocks[r];
    const Nanos near_ns = job_ns - fit.offset_ns;
    return near_ns - static_cast<Nanos>(fit.drift * static_cast<double>(near_ns - fit.origin_ns));
  }

  // Copies belong to a collective that runs on the host.
  bool computes(std::uint32_t r, const RankActivity& one) const {
    return one.kind == ActivityKind::Kernel ||
           (one.kind == ActivityKind::Copy && !meets_on_host_[r]);
  }

  // Whether no kernel ran at that time, so that what came next may have waited for it. A host
  // inside an operator may be blocked in it.
  bool may_have_waited(std::uint32_t r, Nanos local_ns) const {
    const std::vector<RankActivity>& all = data_.ranks[r].activities;
    const auto after =
        std::upper_bound(all.begin(), all.end(), local_ns,
                         [](Nanos t, const RankActivity& one) { return t < one.begin_ns; });
    if (after == all.begin()) return true;
    const RankActivity& one = *std::prev(after);
    return one.end_ns <= local_ns || !computes(r, one);
  }

  // How long a rank computed or launched between two times. Ranges do not count, because a host
  // that waits may be inside one.
  Nanos computing(std::uint32_t r, Nanos from_ns, Nanos to_ns, bool launches = true) const {
    const Nanos from_local_ns = local_of(r, from_ns);
    const Nanos to_local_ns = local_of(r, to_ns);
    const std::vector<RankActivity>& all = data_.ranks[r].activities;
    auto one = std::lower_bound(all.begin(), all.end(), from_local_ns,
                                [](const RankActivity& a, Nanos t) { return a.end_ns <= t; });
    Nanos sum_ns = 0;
    for (; one != all.end() && one->begin_ns < to_local_ns; ++one)
      if (computes(r, *one) || (launches && one->kind == ActivityKind::Operator))
        sum_ns += std::min(one->end_ns, to_local_ns) - std::max(one->begin_ns, from_local_ns);
    return sum_ns;
  }

  // For each rank and arrival: when its work began, and which collectives it had waited for.
  struct Plan {
    Nanos begin_ns = 0;
    Nanos from_ns = 0;                  // the arrival before
    Nanos before_ns = 0;                // what it did between that and begin_ns
    std::vector<std::uint32_t> waited;  // places in arrivals_ of the rank
    bool follows = false;               // directly on the only one that it waited for
  };

  void plan_dependencies() {
    plans_.resize(arrivals_.size());
    find_shortest_gaps();
    for (std::uint32_t r = 0; r < arrivals_.size(); ++r) {
      const std::vector<Arrival>& of = arrivals_[r];
      std::vector<std::uint32_t> by_end(of.size());
      for (std::uint32_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
      std::stable_sort(by_end.begin(), by_end.end(), [&](std::uint32_t a, std::uint32_t b) {
        return of[a].end_ns < of[b].end_ns;
      });
      std::map<std::uint32_t, std::uint32_t> place_of;  // by record
      for (std::uint32_t i = 0; i < of.size(); ++i) place_of[of[i].record] = i;
      std::size_t next = 0;
      Nanos before_ns = begin_of_[r];
      std::uint32_t before = kNoMatch;  // the arrival before that did not only follow another one
      for (std::uint32_t i = 0; i <= of.size(); ++i) {
        if (const auto leader = i < of.size() ? leader_of(r, of[i].record, place_of) : kNoMatch;
            leader != kNoMatch && leader < i) {
          const Nanos end_ns = std::min(of[leader].end_ns, of[i].arrival_ns);
          plans_[r].push_back({.begin_ns = end_ns,
                               .from_ns = end_ns,
                               .before_ns = 0,
                               .waited = {leader},
                               .follows = true});
          continue;
        }
        const Nanos until_ns = i < of.size() ? of[i].arrival_ns : end_of_[r];
        Plan plan;
        plan.begin_ns = plan.from_ns = before_ns;
        for (; next < by_end.size() && of[by_end[next]].end_ns <= until_ns + kTouchingNs; ++next) {
          if (by_end[next] == i) continue;  // shorter than what is touching
          const Arrival& done = of[by_end[next]];
          if (!may_have_waited(r, done.local_end_ns - kTouchingNs)) continue;
          plan.begin_ns = std::max(plan.begin_ns, std::min(done.end_ns, until_ns));
          plan.waited.push_back(by_end[next]);
        }
        if (!plan.waited.empty())
          plan.before_ns = needed_before(r, before, i, before_ns, plan.begin_ns);
        plans_[r].push_back(std::move(plan));
        before_ns = until_ns;
        if (i < of.size()) before = of[i].match;
      }
    }
  }

  // What ranks that wait compute meanwhile is needed for the collectives that follow. How much of
  // it is needed for each is seen on ranks of the role that did not wait.
  void plan_work_of_followers() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> seen;  // role, match
    for (std::uint32_t r = 0; r < arrivals_.size(); ++r)
      for (std::uint32_t i = 0; i < arrivals_[r].size(); ++i) {
        const Plan& plan = plans_[r][i];
        if (plan.follows || (i > 0 && plans_[r][i - 1].follows)) continue;
        seen[{data_.roles[r], arrivals_[r][i].match}].push_back(
            static_cast<double>(plan.before_ns + arrivals_[r][i].arrival_ns - plan.begin_ns));
      }
    for (std::uint32_t r = 0; r < arrivals_.size(); ++r) {
      Nanos last_ns = begin_of_[r];
      Nanos spent_ns = 0;  // of what it computed since then
      for (std::uint32_t i = 0; i < plans_[r].size(); ++i) {
        Plan& plan = plans_[r][i];
        if (!plan.follows) {
          leave_out(spent_ns, plan);
          last_ns = i < arrivals_[r].size() ? arrivals_[r][i].arrival_ns : end_of_[r];
          spent_ns = 0;
          continue;
        }
        const auto usual = seen.find({data_.roles[r], arrivals_[r][i].match});
        if (usual == seen.end()) continue;
        const Nanos left_ns = computing(r, last_ns, arrivals_[r][i].arrival_ns, false) - spent_ns;
        plan.from_ns = last_ns + spent_ns;
        plan.before_ns = std::clamp<Nanos>(static_cast<Nanos>(median(usual->second)), 0,
                                           std::max<Nanos>(left_ns, 0));
        spent_ns += plan.before_ns;
      }
    }
  }

  // Of the work since the arrival before, that of collectives in between.
  static void leave_out(Nanos spent_ns, Plan& plan) {
    if (spent_ns <= 0) return;
    plan.from_ns += spent_ns;
    if (plan.waited.empty()) {
      plan.begin_ns = plan.from_ns;
    } else {
      plan.before_ns = std::max<Nanos>(plan.before_ns - spent_ns, 0);
    }
  }

  // The place among a rank's arrivals of the collective that this one follows.
  std::uint32_t leader_of(std::uint32_t r, std::uint32_t record,
                          const std::map<std::uint32_t, std::uint32_t>& place_of) const {
    const auto found = place_of.find(data_.follows[r][record]);
    return found == place_of.end() ? kNoMatch : found->second;
  }

  // From one arrival to another one, on the quickest rank of each role. No rank needs longer to
  // launch what it has in between.
  using Gap = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // role, matches
  void find_shortest_gaps() {
    for (std::uint32_t r = 0; r < arrivals_.size(); ++r) {
      Nanos before_ns = begin_of_[r];
      std::uint32_t before = kNoMatch;
      for (const Arrival& one : arrivals_[r]) {
        if (data_.follows[r][one.record] != kNoMatch) continue;
        const auto [found, is_new] = shortest_gaps_.try_emplace(
            Gap(data_.roles[r], before, one.match), one.arrival_ns - before_ns);
        if (!is_new) found->second = std::min(found->second, one.arrival_ns - before_ns);
        before = one.match;
        before_ns = one.arrival_ns;
      }
    }
  }

  // What a rank computed while it waited is needed for its next call; of what its host launched
  // meanwhile, only as much as others had time for. The rest is for later calls.
  Nanos needed_before(std::uint32_t r, std::uint32_t before, std::uint32_t i, Nanos from_ns,
                      Nanos to_ns) const {
    const Nanos all_ns = computing(r, from_ns, to_ns);
    if (i >= arrivals_[r].size()) return all_ns;
    const auto gap = shortest_gaps_.find(Gap(data_.roles[r], before, arrivals_[r][i].match));
    if (gap == shortest_gaps_.end() || all_ns <= gap->second) return all_ns;
    return std::max(computing(r, from_ns, to_ns, false), std::max<Nanos>(gap->second, 0));
  }

  // Ranks' lanes come first, then a lane for each transfer, and one for each group's meetings.
  void add_work_and_transfers() {
    struct Next {
      Nanos time_ns;
      std::uint32_t rank;
      std::uint32_t place;
    };
    std::vector<Next> events;
    for (std::uint32_t r = 0; r < arrivals_.size(); ++r) {
      work_of_[r].assign(arrivals_[r].size() + 1, {});
      transfer_of_[r].assign(arrivals_[r].size(), kNoNode);
      for (std::uint32_t i = 0; i < plans_[r].size(); ++i) {
        const Nanos arrival_ns = i < arrivals_[r].size() ? arrivals_[r][i].arrival_ns : end_of_[r];
        events.push_back({arrival_ns, r, i});
      }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const Next& a, const Next& b) { return a.time_ns < b.time_ns; });
    std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> members;
    for (const Next& event : events) {
      add_work(event.rank, event.place);
      if (event.place == arrivals_[event.rank].size()) continue;
      const std::uint32_t m = arrivals_[event.rank][event.place].match;
      std::vector<std::pair<std::uint32_t, std::uint32_t>>& met = members[m];
      met.emplace_back(event.rank, event.place);
      if (met.size() == data_.matches[m].count) {
        add_meeting(m, event.time_ns, met);
        members.erase(m);
      }
    }
  }

  void add_work(std::uint32_t r, std::uint32_t i) {
    const Plan& plan = plans_[r][i];
    const bool is_last = i == arrivals_[r].size();
    const Nanos end_ns = is_last ? end_of_[r] : arrivals_[r][i].arrival_ns;
    Work& work = work_of_[r][i];
    if (plan.follows) {
      const auto ranks = static_cast<std::uint32_t>(data_.ranks.size());
      if (plan.before_ns > 0) work.before = builder_.add(r, plan.from_ns, plan.before_ns);
      work.after = builder_.add(ranks + lane_++, plan.begin_ns, end_ns - plan.begin_ns);
      if (work.before != kNoNode) builder_.depend(work.after, work.before);
      const GraphNode leader = transfer_of_[r][plan.waited.front()];
      if (leader != kNoNode) builder_.depend(work.after, leader);
      return;
    }
    if (plan.before_ns > 0) work.before = builder_.add(r, plan.from_ns, plan.before_ns);
    work.after = builder_.add(r, plan.begin_ns, end_ns - plan.begin_ns);
    for (const std::uint32_t waited : plan.waited)
      if (transfer_of_[r][waited] != kNoNode) builder_.depend(work.after, transfer_of_[r][waited]);
  }

  void add_meeting(std::uint32_t m, Nanos last_ns,
                   const std::vector<std::pair<std::uint32_t, std::uint32_t>>& met) {
    const auto ranks = static_cast<std::uint32_t>(data_.ranks.size());
    const GraphNode meeting = builder_.add(ranks + lane_++, last_ns, 0);
    for (const auto& [r, i] : met) builder_.depend(meeting, work_of_[r][i].after);
    for (const auto& [r, i] : met) {
      const Nanos end_ns = std::max(arrivals_[r][i].end_ns, last_ns);
      const GraphNode transfer = builder_.add(ranks + lane_++, last_ns, end_ns - last_ns);
      builder_.depend(transfer, meeting);
      transfer_of_[r][i] = transfer;
      transfers_.push_back({transfer, m, r});
    }
  }

  static Nanos length_of(const Graph& graph, std::vector<Nanos> durations) {
    return replay(graph, std::move(durations)).length_ns();
  }

  // A call as all ranks of a role see it: a match, or of sends and receives a place in a step.
  using Call = std::tuple<std::uint32_t, bool, std::int64_t, std::uint32_t>;
  Call call_of(std::uint32_t r, std::uint32_t i) const {
    const Arrival& arrival = arrivals_[r][i];
    const bool is_pair = data_.kinds[data_.matches[arrival.match].kind].of == CollectiveClass::Send;
    if (!is_pair) return {data_.roles[r], false, 0, arrival.match};
    const RankSummary& rank = data_.ranks[r];
    const std::uint32_t step = rank.collectives[arrival.record].step;
    if (step == RankCollective::kNoStep) return {data_.roles[r], true, -1, arrival.match};
    std::uint32_t first = arrival.record;
    while (first > 0 && rank.collectives[first - 1].step == step) --first;
    return {data_.roles[r], true, rank.steps[step].number, arrival.record - first};
  }

  // The end of the window, as if it were a call.
  Call end_of_role(std::uint32_t r) const { return {data_.roles[r], false, -1, kNoMatch}; }

  Nanos duration_of(const Graph& graph, const Work& work) const {
    return graph.duration_ns(work.after) +
           (work.before == kNoNode ? 0 : graph.duration_ns(work.before));
  }

  // The median of what ranks of the same role had done up to each call. A call that followed
  // another one does not show what they had done.
  void find_usual(const Graph& graph) {
    calls_.resize(arrivals_.size());
    done_.resize(arrivals_.size());
    for (std::uint32_t r = 0; r < arrivals_.size(); ++r) {
      Nanos sum_ns = 0;
      for (std::uint32_t i = 0; i <= arrivals_[r].size(); ++i) {
        sum_ns += duration_of(graph, work_of_[r][i]);
        done_[r].push_back(sum_ns);
        const Call call = i < arrivals_[r].size() ? call_of(r, i) : end_of_role(r);
        calls_[r].push_back(
            numbers_.try_emplace(call, static_cast<std::uint32_t>(numbers_.size())).first->second);
      }
    }
    numbers_.clear();
  }

  // What ranks of a role had done up to a call, if that can be compared, and since the one before.
  struct UsualCall {
    std::optional<Nanos> done_ns;
    Nanos work_ns = 0;
  };

  std::vector<UsualCall> usual(const std::vector<bool>& is_left_out) const {
    std::vector<std::vector<double>> of;
    std::vector<std::vector<double>> work;
    std::vector<std::size_t> following;
    for (std::uint32_t r = 0; r < arrivals_.size(); ++r) {
      if (is_left_out[r]) continue;
      for (std::size_t i = 0; i < calls_[r].size(); ++i) {
        if (calls_[r][i] >= of.size()) {
          of.resize(calls_[r][i] + 1);
          work.resize(of.size());
          following.resize(of.size(), 0);
        }
        work[calls_[r][i]].push_back(
            static_cast<double>(done_[r][i] - (i > 0 ? done_[r][i - 1] : 0)));
        if (plans_[r][i].follows) {
          ++following[calls_[r][i]];
        } else {
          of[calls_[r][i]].push_back(static_cast<double>(done_[r][i]));
        }
      }
    }
    std::vector<UsualCall> found(of.size());
    for (std::size_t i = 0; i < of.size(); ++i) {
      found[i].work_ns = static_cast<Nanos>(median(work[i]));
      if (!of[i].empty() && of[i].size() >= following[i])
        found[i].done_ns = static_cast<Nanos>(median(of[i]));
    }
    return found;
  }

  // Makes what a rank did up to each call as long as usual; with `cuts`, only shorter.
  void adapt(std::uint32_t r, const std::vector<UsualCall>& usual, bool cuts,
             std::vector<Nanos>& durations) const {
    Nanos changed_ns = 0;
    std::size_t first = 0;  // since the last call that could be compared
    for (std::size_t i = 0; i < calls_[r].size(); ++i) {
      if (calls_[r][i] >= usual.size() || plans_[r][i].follows) continue;
      const std::optional<Nanos> usual_ns = usual[calls_[r][i]].done_ns;
      if (!usual_ns) continue;
      const Nanos change_ns = *usual_ns - done_[r][i] - changed_ns;
      if (!cuts || change_ns <= 0) {
        const Nanos cut_ns = cut_longer(r, first, i, change_ns, usual, durations);
        changed_ns += cut_ns + stretch(r, first, i, change_ns - cut_ns, durations);
      }
      first = i + 1;
    }
  }

  // Takes time from the calls before which the rank did something longer than usual, in proportion.
  // Returns how much.
  Nanos cut_longer(std::uint32_t r, std::size_t first, std::size_t last, Nanos change_ns,
                   const std::vector<UsualCall>& usual, std::vector<Nanos>& durations) const {
    const auto longer = [&](std::size_t i) -> Nanos {
      const Nanos work_ns = done_[r][i] - (i > 0 ? done_[r][i - 1] : 0);
      return calls_[r][i] < usual.size() ? std::max<Nanos>(work_ns - usual[calls_[r][i]].work_ns, 0)
                                         : 0;
    };
    Nanos sum_ns = 0;
    for (std::size_t i = first; i <= last; ++i) add_to(sum_ns, longer(i));
    if (change_ns >= 0 || sum_ns <= 0) return 0;
    const double scale =
        std::max(static_cast<double>(change_ns) / static_cast<double>(sum_ns), -1.0);
    Nanos changed_ns = 0;
    for (std::size_t i = first; i <= last; ++i)
      changed_ns +=
          stretch(r, i, i, static_cast<Nanos>(scale * static_cast<double>(longer(i))), durations);
    return changed_ns;
  }

  // Changes the work before some calls, in proportion. Returns how much was possible.
  Nanos stretch(std::uint32_t r, std::size_t first, std::size_t last, Nanos change_ns,
                std::vector<Nanos>& durations) const {
    Nanos changed_ns = 0;
    for (const auto part : {&Work::after, &Work::before}) {
      Nanos sum_ns = 0;
      for (std::size_t i = first; i <= last; ++i)
        if (work_of_[r][i].*part != kNoNode) add_to(sum_ns, durations[work_of_[r][i].*part]);
      const Nanos wanted_ns = std::max(change_ns - changed_ns, -sum_ns);
      if (wanted_ns == 0) break;
      if (sum_ns <= 0) continue;
      const double scale = static_cast<double>(wanted_ns) / static_cast<double>(sum_ns);
      for (std::size_t i = first; i <= last; ++i) {
        const GraphNode node = work_of_[r][i].*part;
        if (node == kNoNode) continue;
        const auto by_ns = std::max(
            static_cast<Nanos>(scale * static_cast<double>(durations[node])), -durations[node]);
        durations[node] += by_ns;
        add_to(changed_ns, by_ns);
      }
    }
    return changed_ns;
  }

  std::vector<Nanos> ideal(const Graph& graph, bool work, bool transfers) const {
    std::vector<Nanos> durations = graph.durations();
    const auto all = usual(std::vector<bool>(arrivals_.size(), false));
    for (std::uint32_t r = 0; r < arrivals_.size() && work; ++r) adapt(r, all, false, durations);
    if (!transfers) return durations;
    std::vector<std::vector<double>> of_match(data_.matches.size());
    for (const Transfer& one : transfers_)
      of_match[one.match].push_back(static_cast<double>(graph.duration_ns(one.node)));
    for (const Transfer& one : transfers_) {
      std::vector<double> values = of_match[one.match];
      durations[one.node] = static_cast<Nanos>(median(values));
    }
    return durations;
  }

  // Makes the work of these ranks like that of the others of their role. Shorter work stays as it
  // is.
  std::vector<Nanos> without(const Graph& graph, const std::vector<std::uint32_t>& ranks) const {
    const std::vector<bool> is_one = chosen(ranks);
    const auto others = usual(is_one);
    std::vector<Nanos> durations = graph.durations();
    for (const std::uint32_t r : ranks) adapt(r, others, true, durations);
    shorten_partial_transfers(graph, durations);
    return durations;
  }

  // Where a member has no file, the others may have waited for it after they had all arrived, and
  // it for the late rank. Such transfers become as short as those of complete collectives usually
  // are.
  void shorten_partial_transfers(const Graph& graph, std::vector<Nanos>& durations) const {
    using Same = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>;
    const auto kind_of = [this](const Transfer& one) {
      const SharedKind& kind = data_.kinds[data_.matches[one.match].kind];
      return Same(kind.name, kind.dtype, kind.in_elements, kind.out_elements);
    };
    const auto is_partial = [this](const Transfer& one) {
      return data_.matches[one.match].state == MatchState::Undecided;
    };
    if (std::none_of(transfers_.begin(), transfers_.end(), is_partial)) return;
    std::map<Same, std::vector<double>> whole;
    for (const Transfer& one : transfers_)
      if (!is_partial(one))
        whole[kind_of(one)].push_back(static_cast<double>(graph.duration_ns(one.node)));
    std::map<Same, Nanos> usual;
    for (auto& [kind, values] : whole) usual[kind] = static_cast<Nanos>(median(values));
    for (const Transfer& one : transfers_)
      if (const auto found = usual.find(kind_of(one)); is_partial(one) && found != usual.end())
        durations[one.node] = std::min(durations[one.node], found->second);
  }

  std::vector<bool> chosen(const std::vector<std::uint32_t>& ranks) const {
    std::vector<bool> is_one(arrivals_.size(), false);
    for (const std::uint32_t r : ranks) is_one[r] = true;
    return is_one;
  }

  // Before calls to which the late ranks came late, the others had time, and those that share a
  // device or cores with them were slower because of them. Makes the others as fast as the fastest;
  // but what one of them always takes longer than the rest is its own.
  void make_fast(const Graph& graph, const std::vector<std::uint32_t>& late,
                 std::vector<Nanos>& durations) const {
    const std::vector<bool> is_late = chosen(late);
    std::vector<bool> is_held_up(data_.matches.size(), false);
    for (const Lateness& one : data_.late)
      is_held_up[one.match] = std::any_of(one.culprits.begin(), one.culprits.end(),
                                          [&](std::uint32_t r) { return is_late[r]; });
    std::vector<std::vector<double>> of_call;
    const auto for_held_up = [&](auto visit) {
      for (std::uint32_t r = 0; r < arrivals_.size(); ++r)
        for (std::size_t i = 0; i < arrivals_[r].size() && !is_late[r]; ++i)
          if (is_held_up[arrivals_[r][i].match])
            visit(RankAndKind(r, data_.matches[arrivals_[r][i].match].kind), calls_[r][i],
                  work_of_[r][i], duration_of(graph, work_of_[r][i]));
    };
    for_held_up([&](RankAndKind, std::uint32_t call, const Work&, Nanos ns) {
      if (call >= of_call.size()) of_call.resize(call + 1);
      of_call[call].push_back(static_cast<double>(ns));
    });
    std::vector<Nanos> most(of_call.size(), INT64_MAX);
    std::vector<double> usual(of_call.size(), 0);
    for (std::size_t i = 0; i < of_call.size(); ++i) {
      if (of_call[i].empty()) continue;
      const auto fast =
          of_call[i].begin() + static_cast<std::ptrdiff_t>(of_call[i].size() / kFastest);
      std::nth_element(of_call[i].begin(), fast, of_call[i].end());
      most[i] = static_cast<Nanos>(*fast);
      usual[i] = median(of_call[i]);
    }
    std::map<RankAndKind, std::vector<double>> longer;
    for_held_up([&](RankAndKind of, std::uint32_t call, const Work&, Nanos ns) {
      longer[of].push_back(static_cast<double>(ns) - usual[call]);
    });
    const std::map<RankAndKind, Nanos> own = always_longer(longer);
    for_held_up([&](RankAndKind of, std::uint32_t call, const Work& work, Nanos ns) {
      const auto its = own.find(of);
      Nanos too_long_ns =
          std::max<Nanos>(ns - most[call] - (its == own.end() ? 0 : its->second), 0);
      for (const GraphNode node : {work.after, work.before}) {
        if (node == kNoNode) continue;
        const Nanos by_ns = std::min(too_long_ns, durations[node]);
        durations[node] -= by_ns;
        too_long_ns -= by_ns;
      }
    });
  }

  // A rank, and a kind of collective.
  using RankAndKind = std::pair<std::uint32_t, std::uint32_t>;

  // By how much a rank usually takes longer before collectives of a kind, if that is far more than
  // ranks differ.
  static std::map<RankAndKind, Nanos> always_longer(
      const std::map<RankAndKind, std::vector<double>>& longer) {
    std::map<RankAndKind, double> usual;
    std::map<std::uint32_t, std::vector<double>> of_kind;
    for (const auto& [of, all] : longer) {
      std::vector<double> values = all;
      usual[of] = median(values);
      of_kind[of.second].push_back(usual[of]);
    }
    std::map<std::uint32_t, double> spread;
    for (auto& [kind, values] : of_kind) spread[kind] = deviation(values);
    std::map<RankAndKind, Nanos> own;
    for (const auto& [of, ns] : usual)
      if (ns > kClearlyLonger * spread[of.second]) own[of] = static_cast<Nanos>(ns);
    return own;
  }

  // All of them if they are few, else those that cost most.
  std::vector<std::uint32_t> ranks_to_try(std::size_t nodes) const {
    std::vector<std::uint32_t> ranks(data_.ranks.size());
    for (std::uint32_t r = 0; r < ranks.size(); ++r) ranks[r] = r;
    const std::size_t most = most_replays(nodes);
    if (ranks.size() <= most) return ranks;
    std::stable_sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data_.report.ranks[a].caused_ns > data_.report.ranks[b].caused_ns;
    });
    ranks.resize(most);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  // The longest path by rank: work and transfers.
  void find_path(const Graph& graph, JobSimulation& result) const {
    std::vector<bool> is_transfer(graph.size(), false);
    std::vector<std::uint32_t> rank_of(graph.size(), kNoMatch);
    for (const Transfer& one : transfers_) {
      is_transfer[one.node] = true;
      rank_of[one.node] = one.rank;
    }
    for (std::uint32_t r = 0; r < work_of_.size(); ++r)
      for (const Work& work : work_of_[r]) {
        if (work.before != kNoNode) rank_of[work.before] = r;
        if (work.after != kNoNode) rank_of[work.after] = r;
      }
    std::map<std::int32_t, JobPathPart> parts;
    for (const PathPart& part : critical_path(graph, replay(graph))) {
      const std::uint32_t r = rank_of[part.node];
      if (r == kNoMatch) continue;
      JobPathPart& sum = parts[data_.ranks[r].rank];
      sum.rank = data_.ranks[r].rank;
      (is_transfer[part.node] ? sum.transfer_ns : sum.work_ns) += graph.duration_ns(part.node);
      sum.work_ns += std::max<Nanos>(part.delay_ns, 0);
    }
    for (const auto& [rank, part] : parts) result.path.push_back(part);
  }

  JobData& data_;
  Nanos window_begin_ns_ = 0;
  Nanos window_end_ns_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<bool> meets_on_host_;  // of each rank: its collectives are the host's
  std::vector<Nanos> begin_of_;      // of each rank's window
  std::vector<Nanos> end_of_;
  std::vector<std::vector<Arrival>> arrivals_;
  std::vector<std::vector<Plan>> plans_;
  std::map<Gap, Nanos> shortest_gaps_;
  std::vector<std::vector<Work>> work_of_;  // before each arrival of each rank, and after the last
  std::vector<std::vector<GraphNode>> transfer_of_;
  std::vector<Transfer> transfers_;
  std::map<Call, std::uint32_t> numbers_;
  std::vector<std::vector<std::uint32_t>> calls_;  // of each arrival of each rank: its number
  std::vector<std::vector<Nanos>> done_;           // and what the rank had done by then
  std::uint32_t lane_ = 0;
  GraphBuilder builder_;
};

}  // namespace

void replay_job(JobData& data) {
  JobReplay(data).run();
}

}  // namespace sonde::detail
