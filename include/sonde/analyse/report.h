// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What an expert would say first about a trace: whether to trust it, where the time went, and what
// could be faster, ranked by the most time that each finding could save.
//
//   const Report found = report(trace);
//   for (const Finding& finding : found.findings) {
//     std::cout << finding.title << ": at most " << finding.saving_ns << " ns\n" << finding.advice;
//   }
//
// docs/metrics.md defines every number. A saving is an upper bound, and two findings may count the
// same time. Time and memory are linear in the trace, except for sorting what is nearly in order.

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
  std::string id = "";             // a key for programs: "stalling_synchronisation", …
  std::string title = "";          // what is wrong, in a few words
  std::string detail = "";         // what was seen, with its numbers: sentences
  std::string advice = "";         // what to do: sentences
  std::string command = "";        // a command that shows more; TRACE is the file
  Nanos saving_ns = 0;             // at most; 0: for information only
  std::uint64_t count = 0;         // how often it was seen
  std::vector<SpanId> spans = {};  // where: some of them, worst first
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

struct Report {
  Trace trace;
  // First, whether the rest can be trusted.
  LedgerTotals ledger;
  Nanos recording_ns = 0;  // what recording cost all recorded threads together

  Nanos measured_ns =
      0;  // what savings are compared with: all steps, else from the first span to the last
  std::string verdict;  // "The device waits for the host: it was busy 21.0 % of 8.132 ms."
  std::vector<Finding> findings;  // largest saving first

  StepTimes steps;
  std::vector<DeviceTime> devices;
  CopyTimes copies;
  HostTime host;
  std::vector<NameTime> device_work;
  std::vector<MemoryPeakOwner> memory;
  std::vector<std::string> missing;  // what could not be checked, and why: sentences

  bool is_whole() const {
    return !has(ledger, LedgerClass::Lost) && !has(ledger, LedgerClass::Incomplete);
  }
};

Report report(const Trace& trace);

}  // namespace sonde
