// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What an expert would say first of a trace: whether to believe it, where the time went, and what
// could be faster, ranked by the time that each could at most save.
//
//   const Report found = report(trace);
//   for (const Finding& finding : found.findings) {
//     std::cout << finding.title << ": at most " << finding.saving_ns << " ns\n" << finding.advice;
//   }
//
// docs/metrics.md defines every number. A saving is a bound, not a promise, and the savings of two
// findings may be of the same time. Pure; time and memory are linear in the trace, but for sorts of
// what is nearly in order.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/analyse/copies.h"
#include "sonde/analyse/device_time.h"
#include "sonde/analyse/host_time.h"
#include "sonde/analyse/ledger.h"
#include "sonde/analyse/memory_report.h"
#include "sonde/analyse/steps.h"
#include "sonde/trace.h"

namespace sonde {

struct Finding {
  std::string id = "";             // for programs: "stalling_synchronisation", …
  std::string title = "";          // what is wrong, in a few words
  std::string detail = "";         // what was seen, with its numbers: sentences
  std::string advice = "";         // what to do: sentences
  std::string command = "";        // that shows more of it; TRACE stands for the file
  Nanos saving_ns = 0;             // at most; 0: good to know, and no time to save
  std::uint64_t count = 0;         // how often it was seen
  std::vector<SpanId> spans = {};  // where: some of them, the worst first
};

// Its command for the file of that name, quoted for a shell.
std::string command_text(const Finding& finding, std::string_view name);

// Of one device, when most was in use.
struct MemoryPeakOwner {
  MemoryDevice device;
  std::int64_t bytes = 0;
  std::string owner;  // the operator that holds most of it
  std::int64_t owner_bytes = 0;
};

struct Report {
  Trace trace;
  // First: whether the rest is to be believed.
  LedgerTotals ledger;
  Nanos recording_ns = 0;  // what recording took of the recorded threads, together

  Nanos measured_ns =
      0;  // what savings are compared with: all steps, else from the first span to the last
  std::string verdict;  // "The device waits for the host: it was busy 21.0 % of 8.132 ms."
  std::vector<Finding> findings;  // that which could save most first

  StepTimes steps;
  std::vector<DeviceTime> devices;
  CopyTimes copies;
  HostTime host;
  std::vector<NameTime> device_work;
  std::vector<MemoryPeakOwner> memory;
  std::vector<std::string> missing;  // what could not be looked for, and why: sentences

  bool is_whole() const {
    return !has(ledger, LedgerClass::Lost) && !has(ledger, LedgerClass::Incomplete);
  }
};

Report report(const Trace& trace);

}  // namespace sonde
