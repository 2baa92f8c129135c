// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What one rank contributes to the analysis of a job: its collectives, its steps, and what it did
// with its time. A summary is a few hundredths of a trace, and job.h needs nothing else.
//
//   const std::vector<RankSummary> ranks = summarise_ranks(trace);
//   const std::vector<std::uint8_t> bytes = encode(ranks.front());
//   Result<RankSummary> back = decode_rank_summary(bytes, "rank3.sum");
//
// All times are those of the rank's own clock. docs/jobs.md defines the figures.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// Who sends to whom decides what a collective says about clocks.
enum class CollectiveClass : std::uint8_t {
  All,       // nobody ends before the last begins: all_reduce, all_gather, barrier, …
  FromRoot,  // nobody ends before the root begins: broadcast, scatter
  ToRoot,    // the root does not end before the last begins: reduce, gather
  Send,
  Receive,
  Other,  // nothing is known
};
inline constexpr std::uint8_t kCollectiveClasses = 6;

// "all_reduce" for allreduce, nccl:all_reduce and ncclDevKernel_AllReduce_Sum_f32_RING_LL.
std::string_view collective_name(std::string_view recorded);
CollectiveClass collective_class(std::string_view name) noexcept;
// Of so many elements of a type, "Float" or "c10::Half"; -1: not known.
std::int64_t collective_bytes(std::string_view dtype, std::int64_t elements) noexcept;

struct RankGroup {
  std::string name;
  std::string description;
  std::vector<std::int32_t> ranks;  // ascending; empty: not known
  std::int32_t size = -1;           // how many they are; -1: not known
  // It is not recorded which group its collectives belong to: they were distinguished by their
  // threads or streams, and groups were assigned in the order of creation.
  bool is_assumed = false;
};

// What all calls of one kind have in common. Names are places in RankSummary::texts.
struct CollectiveKind {
  std::uint32_t name = 0;
  std::uint32_t dtype = 0;
  std::uint32_t group = 0;  // place in RankSummary::groups
  CollectiveClass of = CollectiveClass::Other;
  std::int32_t source = -1;       // root or sender, as a rank of the job; -1: not known
  std::int32_t destination = -1;  // receiver
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  friend bool operator==(const CollectiveKind& a, const CollectiveKind& b) {
    return a.name == b.name && a.dtype == b.dtype && a.group == b.group && a.of == b.of &&
           a.source == b.source && a.destination == b.destination &&
           a.in_elements == b.in_elements && a.out_elements == b.out_elements;
  }
};

// One call. Records are in the order in which the host launched them.
struct RankCollective {
  static constexpr std::uint32_t kUnfinished = 1;  // its end was not seen
  static constexpr std::uint32_t kHasSequence = 2;
  static constexpr std::uint32_t kHasId = 4;
  static constexpr std::uint32_t kOnHost = 8;  // a thread's, not a kernel
  static constexpr std::uint32_t kNoStep = 0xffffffff;

  Nanos start_ns = 0;  // when the rank was ready: of a host's thread after it waited for the device
  Nanos end_ns = 0;
  std::uint64_t key = 0;         // Comms Id or Seq, as the flags say
  std::int64_t hidden_ns = 0;    // in which the rank also computed
  std::uint32_t kind = 0;        // place in RankSummary::kinds
  std::uint32_t step = kNoStep;  // place in RankSummary::steps of the step that launched it
  std::uint32_t flags = 0;

  Nanos duration_ns() const noexcept { return end_ns - start_ns; }
};

// What a rank did, at each time one thing: what its device ran, or else what its host did.
enum class ActivityKind : std::uint8_t {
  Kernel,
  Copy,
  Operator,    // the host ran an operator or a device call
  Collective,  // nothing ran but a collective; `name` is its place in RankSummary::collectives
  Range,       // the host was in a range, or in a Python function, and in no operator
  Wait,        // the host waited for the device, on which nothing ran
  Unmarked,    // the host was in no span, or only in a step
};
inline constexpr std::uint8_t kActivityKinds = 7;
std::string_view to_string(ActivityKind kind) noexcept;  // "kernel", "copy", …

struct RankActivity {
  static constexpr std::uint32_t kNone = 0xffffffff;

  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  std::uint32_t name = kNone;   // place in RankSummary::texts
  std::uint32_t op = kNone;     // the operator that launched it, or that it is within
  std::uint32_t range = kNone;  // the innermost range of the main thread around it
  ActivityKind kind = ActivityKind::Unmarked;

  Nanos length_ns() const noexcept { return end_ns - begin_ns; }
};

// From its begin on the host, or the end of the step before, until the device has done what it
// launched.
struct RankStep {
  std::int64_t number = -1;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
};

// Device time with HTA's definitions, of the whole recording.
struct RankDeviceTime {
  Nanos kernel_ns = 0;  // from the first to the last work
  Nanos idle_ns = 0;
  Nanos compute_ns = 0;
  Nanos non_compute_ns = 0;
  Nanos host_wait_ns = 0;
  Nanos kernel_wait_ns = 0;
  Nanos other_idle_ns = 0;
  Nanos communication_ns = 0;
  Nanos overlapped_ns = 0;  // of the communication, while kernels computed
};

enum class WorkType : std::uint8_t { Computation, Communication, Memory };
inline constexpr std::uint8_t kWorkTypes = 3;
std::string_view to_string(WorkType type) noexcept;  // "computation", …

// All runs of a kernel, or of a kind of copy, by its full name.
struct RankKernel {
  std::uint32_t name = 0;
  WorkType type = WorkType::Computation;
  std::uint64_t count = 0;
  Nanos sum_ns = 0;
  Nanos least_ns = 0;
  Nanos most_ns = 0;
  double squares = 0;  // of the durations, added up
};

// A stream: what it waited for between two pieces of work, and how many were in its queue, at each
// time that this changed.
struct RankStream {
  std::int32_t device = 0;
  std::int64_t stream = 0;
  Nanos host_wait_ns = 0;
  Nanos kernel_wait_ns = 0;
  Nanos other_idle_ns = 0;
  std::uint64_t changes = 0;  // of the queue
  double queued = 0;          // its length at all changes, added up
  double squares = 0;
  std::int64_t least_queued = 0;
  std::int64_t most_queued = 0;
  Nanos full_ns = 0;  // in which 1,024 and more were queued
};

// Copies of a kind ("Memcpy HtoD", "Memset"), and their bandwidth in GB/s.
struct RankCopies {
  std::uint32_t name = 0;
  std::uint64_t count = 0;
  std::int64_t bytes = 0;
  Nanos sum_ns = 0;
  double sum = 0;  // of the bandwidths
  double squares = 0;
  double least = 0;
  double most = 0;
  // That of all copies of the kind together: its mean in equal parts of the recording.
  std::vector<double> series;
};
inline constexpr std::size_t kSeriesParts = 100;

// Calls that launched a kernel or a copy.
struct RankLaunches {
  std::uint64_t count = 0;
  Nanos call_ns = 0;
  Nanos device_ns = 0;
  Nanos delay_ns = 0;               // from the end of the call to the begin of the work
  std::uint64_t short_kernels = 0;  // shorter than their calls
  std::uint64_t slow_calls = 0;     // longer than 50 us
  std::uint64_t delayed = 0;        // by more than 100 us
};

// An outermost operator and the work that it launched.
struct RankSequence {
  std::uint32_t op = 0;
  std::vector<std::uint32_t> kernels;  // by begin
  std::uint64_t count = 0;
  Nanos device_ns = 0;
  Nanos host_ns = 0;
};

struct RankSummary {
  std::string source;  // the file
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::int32_t local_rank = -1;
  std::string host;  // empty: not known
  std::string job;   // an id that all ranks of a job share; empty: not known
  std::int64_t pid = 0;
  Nanos first_ns = 0;  // of the recording
  Nanos last_ns = 0;
  std::int64_t clock_error_ns = 0;  // how far its times may be off by themselves
  std::uint64_t lost = 0;           // events, by the ledger
  bool is_truncated = false;
  std::uint64_t records_without_work = 0;  // launches of which no kernel was seen
  RankDeviceTime device;
  // Time in which just these types of work ran, by a bit for each WorkType.
  std::array<Nanos, 1U << kWorkTypes> running_ns{};
  RankLaunches launches;
  std::vector<std::string> texts;
  std::vector<RankGroup> groups;
  std::vector<CollectiveKind> kinds;
  std::vector<RankCollective> collectives;
  std::vector<RankStep> steps;
  std::vector<RankActivity> activities;  // in the order of time; they do not overlap
  std::vector<RankKernel> kernels;       // the longest first
  std::vector<RankStream> streams;       // by device and stream
  std::vector<RankCopies> copies;        // by name
  std::vector<RankSequence> sequences;   // the most frequent first; not all

  std::string_view text(std::uint32_t place) const noexcept {
    return place < texts.size() ? std::string_view(texts[place]) : std::string_view();
  }
};

// One for each rank in the trace; usually one. A process without rank counts as one of rank -1 if
// no other has a rank, and processes that only load data are left out.
std::vector<RankSummary> summarise_ranks(const Trace& trace);

// Bytes with a version and a checksum. Decoding takes any bytes: what is wrong is an error.
std::vector<std::uint8_t> encode(const RankSummary& summary);
#if __cplusplus >= 202002L
Result<RankSummary> decode_rank_summary(std::span<const std::uint8_t> bytes,
                                        const std::string& name);
#endif

}  // namespace sonde
