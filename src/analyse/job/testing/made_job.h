// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Jobs with known truth: clocks, arrivals and who is late. Summaries come out as if made from
// traces, each on its own rank's clock.
//
//   MadeJob job({.ranks = 64, .steps = 20});
//   job.delay(5, 20'000'000, "load_batch");
//   Result<JobReport> report = analyse_job(job.summaries());
//   job.true_offset_ns(7);

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sonde/analyse/job.h"

namespace sonde::testing {

struct MadeJobOptions {
  std::int32_t ranks = 8;
  std::int32_t ranks_per_host = 8;  // offsets and drifts are those of hosts
  std::int32_t steps = 10;
  std::int32_t calls_per_step = 4;
  double offset_ns = 5e6;       // uniform, to both sides
  double drift_ppm = 2;         // normal
  double work_ns = 3e6;         // before a call
  double jitter_ns = 200e3;     // of arrivals: gamma with mean twice this
  double end_jitter_ns = 6e3;   // exponential
  double tail = 0.02;           // share of ends that are later by 300 us
  double end_lag_ns = 0;        // exponential, of each rank, always
  double call_share_of_tp = 0;  // calls within a host instead of the world
  std::uint64_t seed = 1;
  bool names_hosts = false;
  bool has_steps = true;
};

class MadeJob {
 public:
  explicit MadeJob(const MadeJobOptions& options) : options_(options), random_(options.seed) {
    const auto ranks = static_cast<std::size_t>(options_.ranks);
    std::vector<double> offsets;
    std::vector<double> drifts;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r % static_cast<std::size_t>(options_.ranks_per_host) == 0) {
        offsets.push_back(std::uniform_real_distribution<>(-1, 1)(random_) * options_.offset_ns);
        drifts.push_back(std::normal_distribution<>(0, 1)(random_) * options_.drift_ppm * 1e-6);
      }
      offset_.push_back(offsets.back());
      drift_.push_back(drifts.back());
      lag_.push_back(options_.end_lag_ns > 0
                         ? std::exponential_distribution<>(1 / options_.end_lag_ns)(random_)
                         : 0);
    }
  }

  // In every step whose number `when` accepts, the rank does `name` for so much longer before the
  // first call.
  void delay(
      std::int32_t rank, double by_ns, const std::string& name,
      ActivityKind kind = ActivityKind::Range,
      std::function<bool(std::int32_t)> when = [](std::int32_t) { return true; }) {
    delays_.push_back({rank, by_ns, name, kind, std::move(when)});
  }

  // What must be added to a time of the rank's clock, in the middle of the job.
  double true_offset_ns(std::int32_t rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return -(offset_[r] + drift_[r] * middle_ns_) + (offset_[0] + drift_[0] * middle_ns_);
  }

  std::vector<RankSummary> summaries() {
    start();
    std::vector<double> now(summaries_.size(), 0);
    for (std::int32_t step = 0; step < options_.steps; ++step) {
      std::vector<double> begins = now;
      for (std::int32_t call = 0; call < options_.calls_per_step; ++call) run_call(step, call, now);
      for (std::size_t r = 0; r < now.size(); ++r)
        if (options_.has_steps)
          summaries_[r].steps.push_back({step, local(r, begins[r]), local(r, now[r])});
    }
    middle_ns_ = now.front() / 2;
    for (std::size_t r = 0; r < now.size(); ++r) {
      summaries_[r].first_ns = local(r, 0);
      summaries_[r].last_ns = local(r, now[r]);
    }
    return summaries_;
  }

 private:
  static constexpr double kEpochNs = 1.7e18;

  struct MadeDelay {
    std::int32_t rank;
    double by_ns;
    std::string name;
    ActivityKind kind;
    std::function<bool(std::int32_t)> when;
  };

  Nanos local(std::size_t r, double true_ns) const {
    return static_cast<Nanos>(kEpochNs) +
           static_cast<Nanos>(std::llround(true_ns + offset_[r] + drift_[r] * true_ns));
  }

  void start() {
    const auto ranks = static_cast<std::size_t>(options_.ranks);
    summaries_.assign(ranks, {});
    RankGroup world{.name = "0", .description = "default_pg", .ranks = {}, .is_assumed = false};
    for (std::int32_t r = 0; r < options_.ranks; ++r) world.ranks.push_back(r);
    for (std::size_t r = 0; r < ranks; ++r) {
      RankSummary& one = summaries_[r];
      const auto host = static_cast<std::int32_t>(r) / options_.ranks_per_host;
      one.source = "rank" + std::to_string(r) + ".json";
      one.rank = static_cast<std::int32_t>(r);
      one.world_size = options_.ranks;
      one.pid = 100 + one.rank;
      if (options_.names_hosts) one.host = "node" + std::to_string(host);
      one.texts = {"all_reduce", "Float", "work", "reduce_scatter"};
      RankGroup tp{
          .name = std::to_string(1 + host), .description = "tp", .ranks = {}, .is_assumed = false};
      for (std::int32_t i = 0; i < options_.ranks_per_host; ++i)
        tp.ranks.push_back(host * options_.ranks_per_host + i);
      one.groups = {world, tp};
      one.kinds = {{0, 1, 0, CollectiveClass::All, -1, -1, 1 << 20, 1 << 20},
                   {3, 1, 1, CollectiveClass::All, -1, -1, 1 << 16, 1 << 16}};
    }
  }

  void run_call(std::int32_t step, std::int32_t call, std::vector<double>& now) {
    const bool is_tp = std::uniform_real_distribution<>(0, 1)(random_) < options_.call_share_of_tp;
    std::vector<double> arrivals;
    for (std::size_t r = 0; r < now.size(); ++r) arrivals.push_back(arrive(step, call, r, now[r]));
    const double transfers[] = {25e3, 80e3, 400e3, 3e6};
    const double transfer = transfers[std::uniform_int_distribution<std::size_t>(0, 3)(random_)];
    const std::size_t group =
        is_tp ? static_cast<std::size_t>(options_.ranks_per_host) : now.size();
    for (std::size_t first = 0; first < now.size(); first += group) {
      double last = 0;
      for (std::size_t r = first; r < first + group; ++r) last = std::max(last, arrivals[r]);
      for (std::size_t r = first; r < first + group; ++r)
        finish(r, step, is_tp ? 1 : 0, arrivals[r], last + transfer, now[r]);
    }
  }

  double arrive(std::int32_t step, std::int32_t call, std::size_t r, double from) {
    double at = from + options_.work_ns + std::gamma_distribution<>(2, options_.jitter_ns)(random_);
    add(r, from, at, "work", ActivityKind::Kernel);
    for (const MadeDelay& delay : delays_) {
      if (delay.rank != static_cast<std::int32_t>(r) || call != 0 || !delay.when(step)) continue;
      add(r, at, at + delay.by_ns, delay.name, delay.kind);
      at += delay.by_ns;
    }
    return at;
  }

  void add(std::size_t r, double from, double to, const std::string& name, ActivityKind kind) {
    RankSummary& one = summaries_[r];
    std::uint32_t place = 0;
    while (place < one.texts.size() && one.texts[place] != name) ++place;
    if (place == one.texts.size()) one.texts.push_back(name);
    RankActivity activity;
    activity.begin_ns = local(r, from);
    activity.end_ns = local(r, to);
    activity.name = place;
    activity.kind = kind;
    one.activities.push_back(activity);
  }

  void finish(std::size_t r, std::int32_t step, std::uint32_t kind, double arrival, double done,
              double& now) {
    RankSummary& one = summaries_[r];
    double end =
        done + lag_[r] + std::exponential_distribution<>(1 / options_.end_jitter_ns)(random_);
    if (std::uniform_real_distribution<>(0, 1)(random_) < options_.tail)
      end += std::exponential_distribution<>(1 / 300e3)(random_);
    RankActivity waiting;
    waiting.begin_ns = local(r, arrival);
    waiting.end_ns = local(r, end);
    waiting.name = static_cast<std::uint32_t>(one.collectives.size());
    waiting.kind = ActivityKind::Collective;
    one.activities.push_back(waiting);
    RankCollective record;
    record.start_ns = waiting.begin_ns;
    record.end_ns = waiting.end_ns;
    record.kind = kind;
    if (options_.has_steps) record.step = static_cast<std::uint32_t>(step);
    one.collectives.push_back(record);
    now = end;
  }

  MadeJobOptions options_;
  std::mt19937_64 random_;
  std::vector<double> offset_;
  std::vector<double> drift_;
  std::vector<double> lag_;
  std::vector<MadeDelay> delays_;
  std::vector<RankSummary> summaries_;
  double middle_ns_ = 0;
};

}  // namespace sonde::testing
