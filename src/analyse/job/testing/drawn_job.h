// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Jobs drawn call by call: what each rank does, and where ranks meet. All are on one clock.
//
//   DrawnJob job(4);
//   const std::uint32_t all = job.group("0", "dp", {0, 1, 2, 3});
//   job.begin_step();
//   for (std::int32_t r = 0; r < 4; ++r) job.work(r, 3'000'000, "mm");
//   job.meet(all);
//   job.end_step();
//   analyse_job(job.summaries());

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sonde/analyse/job.h"

namespace sonde::testing {

class DrawnJob {
 public:
  explicit DrawnJob(std::int32_t ranks) : summaries_(static_cast<std::size_t>(ranks)) {
    now_.assign(summaries_.size(), kBegin);
    streams_.resize(summaries_.size());
    for (std::size_t r = 0; r < summaries_.size(); ++r) {
      summaries_[r].source = "rank" + std::to_string(r) + ".json";
      summaries_[r].rank = static_cast<std::int32_t>(r);
      summaries_[r].world_size = ranks;
      summaries_[r].host = "node";
      summaries_[r].first_ns = kBegin;
    }
  }

  std::uint32_t group(const std::string& name, const std::string& description,
                      const std::vector<std::int32_t>& ranks) {
    for (RankSummary& one : summaries_)
      one.groups.push_back({.name = name, .description = description, .ranks = ranks});
    members_.push_back(ranks);
    return static_cast<std::uint32_t>(members_.size() - 1);
  }

  void begin_step() {
    for (std::size_t r = 0; r < summaries_.size(); ++r)
      summaries_[r].steps.push_back({step_, now_[r], now_[r]});
    ++step_;
  }
  void end_step() {
    for (std::size_t r = 0; r < summaries_.size(); ++r) summaries_[r].steps.back().end_ns = now_[r];
  }

  void work(std::int32_t rank, Nanos ns, const std::string& name,
            ActivityKind kind = ActivityKind::Kernel, const std::string& range = "") {
    RankSummary& one = of(rank);
    Nanos& now = now_[static_cast<std::size_t>(rank)];
    RankActivity activity{.begin_ns = now, .end_ns = now + ns, .name = text(one, name)};
    activity.kind = kind;
    if (!range.empty()) activity.range = text(one, range);
    one.activities.push_back(activity);
    now += ns;
  }

  // All members of the group reduce something. Those that do not wait go on with their work, and
  // the next call of the group begins after this one.
  void meet(std::uint32_t group, bool waits = true, Nanos transfer_ns = kTransferNs) {
    Nanos last = 0;
    std::map<std::int32_t, Nanos> arrivals;
    for (const std::int32_t r : members_[group]) {
      arrivals[r] = std::max(now_[static_cast<std::size_t>(r)], stream(r, group));
      last = std::max(last, arrivals[r]);
    }
    for (const std::int32_t r : members_[group]) {
      const CollectiveKind kind{text(of(r), "all_reduce"), text(of(r), "Float"), group,
                                CollectiveClass::All};
      call(r, group, kind, arrivals[r], last + transfer_ns);
      if (waits) wait(r, group);
    }
  }

  // Both wait until it is over.
  void send(std::uint32_t group, std::int32_t from, std::int32_t to) {
    const Nanos last =
        std::max(now_[static_cast<std::size_t>(from)], now_[static_cast<std::size_t>(to)]);
    for (const std::int32_t r : {from, to}) {
      CollectiveKind kind{text(of(r), r == from ? "send" : "recv"), text(of(r), "Float"), group,
                          r == from ? CollectiveClass::Send : CollectiveClass::Receive};
      kind.source = from;
      kind.destination = to;
      call(r, group, kind, now_[static_cast<std::size_t>(r)], last + kTransferNs);
      wait(r, group);
    }
  }

  // The rank goes on when its calls of the group are over.
  void wait(std::int32_t rank, std::uint32_t group) {
    Nanos& now = now_[static_cast<std::size_t>(rank)];
    const Nanos until = stream(rank, group);
    if (until <= now) return;
    RankActivity activity{.begin_ns = now, .end_ns = until};
    activity.name = static_cast<std::uint32_t>(of(rank).collectives.size() - 1);
    activity.kind = ActivityKind::Collective;
    of(rank).activities.push_back(activity);
    now = until;
  }

  Nanos now(std::int32_t rank) const { return now_[static_cast<std::size_t>(rank)] - kBegin; }

  std::vector<RankSummary> summaries() {
    for (std::size_t r = 0; r < summaries_.size(); ++r) summaries_[r].last_ns = now_[r];
    return summaries_;
  }

 private:
  static constexpr Nanos kBegin = 1'700'000'000'000'000'000;
  static constexpr Nanos kTransferNs = 100'000;

  RankSummary& of(std::int32_t rank) { return summaries_[static_cast<std::size_t>(rank)]; }
  Nanos& stream(std::int32_t rank, std::uint32_t group) {
    return streams_[static_cast<std::size_t>(rank)][group];
  }

  static std::uint32_t text(RankSummary& of, const std::string& text) {
    const auto found = std::find(of.texts.begin(), of.texts.end(), text);
    const auto place = static_cast<std::uint32_t>(found - of.texts.begin());
    if (found == of.texts.end()) of.texts.push_back(text);
    return place;
  }

  void call(std::int32_t rank, std::uint32_t group, const CollectiveKind& kind, Nanos start,
            Nanos end) {
    RankSummary& one = of(rank);
    const auto found = std::find(one.kinds.begin(), one.kinds.end(), kind);
    RankCollective record;
    record.start_ns = start;
    record.end_ns = end;
    record.kind = static_cast<std::uint32_t>(found - one.kinds.begin());
    if (found == one.kinds.end()) one.kinds.push_back(kind);
    if (!one.steps.empty()) record.step = static_cast<std::uint32_t>(one.steps.size() - 1);
    one.collectives.push_back(record);
    stream(rank, group) = end;
  }

  std::vector<RankSummary> summaries_;
  std::vector<Nanos> now_;                               // of each rank
  std::vector<std::map<std::uint32_t, Nanos>> streams_;  // of each rank and group: its last end
  std::vector<std::vector<std::int32_t>> members_;       // of each group
  std::int64_t step_ = 0;
};

}  // namespace sonde::testing
