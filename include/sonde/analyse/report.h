// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What an expert would say first about a trace: whether to trust it, where the time went, and what
// could be faster, ranked by the most time that each finding could save.
//
//   const Report found = report(trace);
//   for (const Finding& finding : found.findings) {
//     std::cout << finding.title << ": " << finding.saving_ns << " ns\n" << finding.advice;
//   }
//
// docs/metrics.md defines every number. A saving is what a simulation of the mended program gives
// (sonde/analyse/what_if.h); two findings may save the same time. Time and memory are linear in the
// trace, except for sorting what is nearly in order.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/analyse/copies.h"
#include "sonde/analyse/device_time.h"
#include "sonde/analyse/host_time.h"
#include "sonde/analyse/kernel_limits.h"
#include "sonde/analyse/ledger.h"
#include "sonde/analyse/memory_report.h"
#include "sonde/analyse/program_facts.h"
#include "sonde/analyse/steps.h"
#include "sonde/trace.h"

namespace sonde {

// A cause within a finding, with all that it was seen in.
struct FindingGroup {
  std::string name;   // an operator, a call, a function or a mark of the program
  std::string place;  // "train.py:12"; empty: not known
  Nanos time_ns = 0;
  std::uint64_t count = 0;
};

// Where to look in a viewer.
struct FindingMoment {
  TrackId track;
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  std::string what;
};

struct Finding {
  std::string id = "";                      // a key for programs: "stalling_synchronisation", …
  std::string title = "";                   // what is wrong, in a few words
  std::string detail = "";                  // what was seen, with its numbers: sentences
  std::string advice = "";                  // what to do: sentences
  std::string command = "";                 // that shows more of it; TRACE stands for the file
  Nanos saving_ns = 0;                      // simulated; 0: for information only
  Nanos at_most_ns = 0;                     // a bound: the time that it took
  std::uint64_t count = 0;                  // how often it was seen
  std::vector<SpanId> spans = {};           // where: some of them, the worst first
  std::vector<FindingGroup> groups = {};    // causes, the longest first
  std::vector<FindingMoment> moments = {};  // some of the times at which it was seen, worst first
};

// The command of a finding for this file, quoted for a shell.
std::string command_text(const Finding& finding, std::string_view name);

// The peak of one device.
struct MemoryPeakOwner {
  MemoryDevice device;
  std::int64_t bytes = 0;
  std::string owner;  // the operator that holds most of it
  std::int64_t owner_bytes = 0;
};

// How long a device was busy in the part that findings are about, both as the verdict counts them:
// without what the profiler added.
struct BusyShare {
  Nanos whole_ns = 0;
  Nanos busy_ns = 0;
};

struct Report {
  Trace trace;
  // First, whether the rest can be trusted.
  LedgerTotals ledger;
  Nanos recording_ns = 0;  // what recording cost all recorded threads together

  ProgramEnd end;           // how the program ended
  ProcessorTime processor;  // whether it got the processor

  // What the profiler that wrote the trace cost, if it was another one: an estimate, of the part
  // that findings are about; and what it was asked for that costs much.
  Nanos profiler_ns = 0;
  double without_profiler = 1;  // the part of the recorded time that is left; bounds count by it
  Nanos corrected_ns = 0;       // Sonde's own cost in that part, if it is taken off
  std::vector<std::string> profiler_options;

  // The part that findings are about, which savings are compared with: steps without warm-up, else
  // everything from the first span to the last. Without what another profiler cost.
  Nanos measured_ns = 0;
  StepRule step_rule = StepRule::None;
  std::string steps_inferred_from;  // the range by which they were recognised, if they were
  std::string other_optimisers;     // that the program calls then: "Adam.step, 80 times"
  std::size_t steady_steps = 0;
  std::size_t warm_up_steps = 0;  // before them
  Nanos warm_up_ns = 0;
  Nanos start_ns = 0;        // from the beginning of the recording to the first step
  std::string start_reason;  // what took longest in that time; empty: not known
  std::string verdict;       // "The device waits for the host: it was busy 21.0 % of 8.132 ms."
  std::vector<Finding> findings;   // largest saving first
  std::vector<std::string> minor;  // titles of what would save less than 1 %

  StepTimes steps;
  std::vector<DeviceTime> devices;
  std::vector<BusyShare> device_shares;  // of each of them
  CopyTimes copies;
  HostTime host;
  std::vector<NameTime> device_work;
  KernelLimits kernel_limits;
  std::vector<MemoryPeakOwner> memory;
  std::vector<std::string> missing;  // what could not be checked, and why: sentences

  // Spans that were still open at the end do not count: something always is.
  bool is_whole() const;
};

Report report(const Trace& trace);

// What a reader must know before the findings, in sentences: what the profiler did to the times,
// and which part the findings are about.
std::vector<std::string> introduction(const Report& report);
// "saves about 3.1 ms, 8.0 %; at most 5.2 ms, 13.4 %"
std::string saving_text(const Report& report, const Finding& finding);
// "3.210 ms, 12 times: aten::item (train.py:12)"
std::string group_text(const FindingGroup& group);
// "worst at 12.400 ms: 1.002 ms in aten::item"
std::string moment_text(const Report& report, const FindingMoment& moment);

}  // namespace sonde
