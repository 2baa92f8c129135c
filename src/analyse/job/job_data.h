// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the steps of analyse_job() hand to each other. In this order: match(), align(),
// find_roles(), find_followers(), find_waits(), find_causes(), find_slow_groups(),
// replay_job(), sum_device_work().

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/median.h"
#include "sonde/analyse/job.h"

namespace sonde::detail {

inline constexpr std::uint32_t kNoMatch = 0xffffffff;

// A rank's part in a collective.
struct Member {
  std::uint32_t rank = 0;    // place in JobData::ranks
  std::uint32_t record = 0;  // place in its collectives
};

struct Match {
  std::uint32_t group = 0;
  std::uint32_t kind = 0;   // place in JobData::kinds
  std::uint32_t first = 0;  // place in JobData::members
  std::uint32_t count = 0;
  MatchState state = MatchState::Undecided;
  bool is_refused = false;  // its group's times contradict it

  bool is_usable() const noexcept {
    return count > 1 && !is_refused &&
           (state == MatchState::FullyMatched || state == MatchState::Undecided);
  }
};

// A kind of collective as all ranks see it.
struct SharedKind {
  std::uint32_t name = 0;  // place in JobReport::texts
  std::uint32_t dtype = 0;
  CollectiveClass of = CollectiveClass::Other;
  std::int32_t source = -1;
  std::int32_t destination = -1;
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
};

// The clock of a rank: local times become those of the job.
struct ClockFit {
  std::int64_t offset_ns = 0;
  double drift = 0;     // per nanosecond since origin_ns
  Nanos origin_ns = 0;  // on the rank's own clock
};

// How somebody was late in a collective.
struct Lateness {
  std::uint32_t match = 0;
  std::vector<std::uint32_t> culprits;  // places in JobData::ranks
  std::vector<std::uint32_t> others;    // some of those that waited
  Nanos late_ns = 0;                    // of the last over the last of the others
  Nanos arrival_ns = 0;                 // of the last, on the job's clock
};

using Stretch = std::pair<Nanos, Nanos>;
// How long the stretches last together, each moment once.
Nanos united_ns(std::vector<Stretch> stretches);

struct JobData {
  std::vector<RankSummary> ranks;  // ascending by rank
  JobReport report;
  std::vector<SharedKind> kinds;
  std::vector<Match> matches;
  std::vector<Member> members;
  std::vector<ClockFit> clocks;                      // of each rank
  std::vector<std::int64_t> errors;                  // of each rank
  std::vector<std::uint32_t> components;             // of each rank: those that collectives join
  std::vector<std::vector<std::uint32_t>> match_of;  // of each rank's collectives; 0xffffffff: none
  // Of each rank's collectives: the one that it followed directly; kNoMatch: none.
  std::vector<std::vector<std::uint32_t>> follows;
  std::vector<Lateness> late;
  std::vector<std::uint32_t> roles;  // of each rank: those of one role do the same
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_role;  // the ranks of each, ascending

  std::span<const Member> of(const Match& match) const {
    return {members.data() + match.first, match.count};
  }
  const RankCollective& record(const Member& member) const {
    return ranks[member.rank].collectives[member.record];
  }
  Nanos on_job_clock(std::uint32_t rank, Nanos local_ns) const {
    const ClockFit& fit = clocks[rank];
    return local_ns + fit.offset_ns +
           static_cast<Nanos>(fit.drift * static_cast<double>(local_ns - fit.origin_ns));
  }
  Nanos start_of(const Member& member) const {
    return on_job_clock(member.rank, record(member).start_ns);
  }
  Nanos end_of(const Member& member) const {
    return on_job_clock(member.rank, record(member).end_ns);
  }
  std::uint32_t text(std::string_view text);
};

// Sorts the ranks, throws out what does not belong, says so.
Result<void> admit(JobData& data, const JobOptions& options);
void match(JobData& data);
void align(JobData& data);
void find_roles(JobData& data);
void find_followers(JobData& data);
void find_waits(JobData& data);
void find_causes(JobData& data);
// Groups whose collectives are slow, although all arrive in time.
void find_slow_groups(JobData& data);
// What the devices of all ranks ran.
void sum_device_work(JobData& data);
// Part of find_causes().
void measure_job_steps(JobData& data);
void replay_job(JobData& data);

// The median distance from the median, scaled so that it is the standard deviation of normally
// distributed values. Changes them.
double deviation(std::vector<double>& values);

}  // namespace sonde::detail
