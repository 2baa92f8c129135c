// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All ranks of a job on one clock: which rank held the others up, why, and what it cost.
//
//   std::vector<RankSummary> ranks = …;  // rank_summary.h, in any order, some may be missing
//   SONDE_TRY(const JobReport job, analyse_job(ranks));
//   if (job.verdict) std::cout << job.verdict->rank << " " << job.verdict->name;
//
// The result depends only on the summaries, not on their order. docs/jobs.md defines the figures.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sonde/analyse/rank_summary.h"

namespace sonde {

// How calls of different ranks belong together; the names are those of PyTorch's flight recorder.
enum class MatchState : std::uint8_t {
  FullyMatched,
  CollectiveTypeMismatch,
  SizeOrSyntaxMismatch,
  CollectiveStateMismatch,  // begun by some ranks, and others did not arrive
  CollectiveDtypeMismatch,
  Undecided,  // ranks are missing, or a rank's recording does not cover it
};
inline constexpr std::size_t kMatchStates = 6;
std::string_view to_string(MatchState state) noexcept;  // "FULLY_MATCHED", …

struct JobGroup {
  std::string name;
  std::string description;
  std::vector<std::int32_t> ranks;    // ascending; those of the files if the group's are not known
  std::vector<std::int32_t> missing;  // members without a file
  bool is_assumed = false;            // as RankGroup::is_assumed
  bool spans_hosts = false;           // members on several hosts; false if hosts are not known
  std::string problem;                // why its collectives are not used; empty: they are
  std::string matched_by;             // "comms id", "sequence number", "steps", "order"
  std::uint64_t calls = 0;
  std::array<std::uint64_t, kMatchStates> states{};
};

// One collective of one group. Times are on the job's clock.
struct JobCollective {
  std::uint32_t group = 0;
  std::uint32_t name = 0;  // place in JobReport::texts
  std::uint32_t dtype = 0;
  MatchState state = MatchState::Undecided;
  bool is_p2p = false;
  std::int64_t bytes = -1;    // of the larger of input and output; -1: not known
  std::int64_t step = -1;     // of the last rank, where it has steps
  std::uint32_t members = 0;  // with times
  std::int32_t last = -1;     // the rank that arrived last; -1: a tie within the clocks' errors
  Nanos first_ns = 0;         // first arrival
  Nanos last_ns = 0;          // last arrival
  Nanos end_ns = 0;           // last end
  Nanos wait_ns = 0;          // of all members together, until the last arrived
  Nanos exposed_ns = 0;       // of it at least so much in which the waiting rank did not compute
  Nanos transfer_ns = 0;      // shortest, from the last arrival to an end
  double bus_gb_per_s = 0;    // 0: not known
  Nanos late_ns = 0;          // of the culprits over all others; 0: nobody was late
};

// When each member came to a collective and left it, on the job's clock.
struct JobArrivals {
  struct Member {
    std::int32_t rank = -1;
    Nanos start_ns = 0;
    Nanos end_ns = 0;
    std::int64_t error_ns = 0;  // of the rank's clock
  };
  JobCollective of;
  std::vector<Member> members;  // ascending by rank
};

struct JobClock {
  std::int32_t rank = -1;
  std::string host;
  bool is_aligned = false;     // false: no collective joins it to the first rank
  std::int64_t offset_ns = 0;  // is added to the rank's times; 0 for the first rank
  double drift_ppm = 0;        // microseconds that are added per second since at_ns
  Nanos at_ns = 0;             // the time of the rank's clock for which the offset holds
  std::int64_t error_ns = 0;   // the offset is right to this much, as far as ends coincide
  std::int64_t low_ns = 0;     // no collective allows an offset below this
  std::int64_t high_ns = 0;    // or above this
  std::uint64_t collectives = 0;
  bool is_bounded_below = false;
  bool is_bounded_above = false;
};

struct JobRank {
  std::int32_t rank = -1;
  std::string source;
  std::string host;
  std::uint64_t collectives = 0;
  Nanos wait_ns = 0;  // for others
  Nanos exposed_ns = 0;
  Nanos transfer_ns = 0;
  Nanos caused_ns = 0;  // how long it alone held others up; overlaps count once
  std::uint64_t times_last = 0;
  Nanos mean_step_ns = 0;
  bool is_outlier = false;  // its steps or waits differ clearly from those of the others
  RankDeviceTime device;
  RankLaunches launches;
  std::vector<RankStream> streams;
  std::vector<RankCopies> copies;  // their names are places in JobReport::texts
};

// A kernel, or a kind of copy, on all ranks. `name` is a place in JobReport::texts.
struct JobKernel {
  RankKernel all;
  std::vector<std::pair<std::int32_t, RankKernel>> ranks;  // ascending
};

// What an operator launched, on all ranks. Names are places in JobReport::texts.
struct JobSequence {
  RankSequence all;
  std::uint64_t ranks = 0;
};

struct JobStepRank {
  std::int32_t rank = -1;
  Nanos duration_ns = 0;
  Nanos wait_ns = 0;
  Nanos caused_ns = 0;
};

struct JobStep {
  std::int64_t number = -1;
  Nanos duration_ns = 0;  // median over ranks
  bool is_outlier = false;
  std::vector<JobStepRank> ranks;  // ascending
};

// Why a rank was late. `share` of the delay is explained by it.
struct JobCause {
  ActivityKind kind = ActivityKind::Unmarked;
  std::string cause;    // "kernel", "copy", "operator", "data_loading", "gc", "host", …
  std::string name;     // of the kernel, operator or range
  std::string op;       // that launched it; empty: not known
  std::string range;    // around it
  Nanos extra_ns = 0;   // more than on the other ranks
  Nanos own_ns = 0;     // on this rank, in the delays looked at
  Nanos others_ns = 0;  // on the others, in the same stretches
  double share = 0;
};

struct JobVerdict {
  std::int32_t rank = -1;
  std::vector<std::int32_t> ranks;  // all that were late together, `rank` first
  std::string host;                 // if they are exactly one host's
  std::string cause;                // empty: nothing explains 80 % of it
  std::string name;
  std::string op;
  std::string range;
  // What is named, on the late rank and on the others, and the share of the delay it explains.
  Nanos cause_own_ns = 0;
  Nanos cause_others_ns = 0;
  double cause_share = 0;
  Nanos total_ns = 0;
  Nanos per_step_ns = 0;         // 0 if there are no steps
  double share = 0;              // of the job's time
  std::uint64_t times = 0;       // collectives that it held up
  std::uint64_t steps = 0;       // steps in which it did
  std::vector<JobCause> causes;  // the largest first
};

// Ranks that began a collective which others never reached.
struct JobHang {
  std::uint32_t group = 0;
  std::string name;
  std::vector<std::int32_t> waiting;
  std::vector<std::int32_t> absent;
  std::string last_activity;  // of the first absent rank
};

// A group whose collectives take clearly longer, once all have arrived, than the same ones of other
// groups.
struct JobSlowGroup {
  std::uint32_t group = 0;
  std::uint32_t name = 0;  // place in JobReport::texts
  std::int64_t bytes = -1;
  std::uint64_t calls = 0;
  Nanos transfer_ns = 0;  // median
  Nanos others_ns = 0;    // of the other groups
  Nanos total_ns = 0;     // that it takes longer in all, and in which its ranks do not compute
};

// A rank's part in the longest path through the job.
struct JobPathPart {
  std::int32_t rank = -1;
  Nanos work_ns = 0;
  Nanos transfer_ns = 0;
};

// The job replayed: its time per step, and what it would be if ranks were like the others.
struct JobSimulation {
  struct Without {
    std::int32_t rank = -1;
    Nanos step_ns = 0;  // if this rank's work took as long as that of the others
  };
  std::uint64_t steps = 0;
  Nanos measured_step_ns = 0;
  Nanos replayed_step_ns = 0;         // with nothing changed
  double error = 0;                   // of the replay with nothing changed
  Nanos ideal_step_ns = 0;            // if all ranks did as their median
  double slowdown = 0;                // replayed / ideal
  Nanos usual_work_step_ns = 0;       // if all ranks worked as their median, with transfers as is
  Nanos usual_transfers_step_ns = 0;  // if transfers took their median, with work as it is
  // If those of the verdict were like the others; 0: there is no verdict. Others that had to wait
  // for them may have been slow because of them: as fast as the fastest, and as they were.
  Nanos without_culprits_step_ns = 0;
  Nanos without_culprits_kept_step_ns = 0;
  std::vector<Without> without;
  struct WithoutHost {
    std::string host;
    Nanos step_ns = 0;  // if the work of its ranks took as long as that of the others
  };
  std::vector<WithoutHost> without_hosts;  // if there are several; by name
  std::vector<JobPathPart> path;           // ascending by rank
};

struct JobReport {
  std::optional<JobVerdict> verdict;
  std::vector<JobVerdict> suspects;  // other ranks that cost more than 1 %; the worst first
  std::vector<JobClock> clocks;      // ascending by rank
  std::vector<JobRank> ranks;        // ascending
  std::vector<JobGroup> groups;
  std::vector<JobCollective> collectives;  // by time
  std::vector<JobArrivals> arrivals;       // of some to which ranks came latest, the worst first
  std::vector<JobStep> steps;
  std::vector<JobHang> hangs;
  std::vector<JobSlowGroup> slow_groups;  // the worst first
  // Of all ranks together: RankSummary::running_ns, and what their devices ran.
  std::array<Nanos, 1U << kWorkTypes> running_ns{};
  std::vector<JobKernel> kernels;                    // ten of each type, the longest first
  std::array<RankKernel, kWorkTypes> other_kernels;  // of each type; they have no name
  std::vector<JobSequence> sequences;                // the most frequent first
  std::optional<JobSimulation> replay;
  std::string replay_refused;  // why there is none
  std::vector<std::string> texts;
  std::vector<std::string> notes;     // what is missing or was assumed, in sentences
  std::vector<std::int32_t> missing;  // ranks of the world without a file
  // Others already waited for these when their recordings began.
  std::vector<std::int32_t> began_late;
  std::int32_t world_size = -1;
  Nanos total_ns = 0;                // of all steps, or of the recording
  Nanos step_ns = 0;                 // median; 0: no steps
  Nanos noise_ns = 0;                // how much arrivals vary by themselves
  std::uint64_t pairs_unknown = 0;   // sends and receives whose other side is not recorded
  std::uint64_t contradictions = 0;  // collectives in which a rank ends before another begins
  Nanos worst_contradiction_ns = 0;

  std::string_view text(std::uint32_t place) const noexcept {
    return place < texts.size() ? std::string_view(texts[place]) : std::string_view();
  }
};

struct JobOptions {
  std::vector<std::string> hosts;  // of the ranks in order; empty: from the summaries
};

// Fails if the summaries are of several jobs, or if there is none.
Result<JobReport> analyse_job(std::vector<RankSummary> ranks, const JobOptions& options = {});

}  // namespace sonde
