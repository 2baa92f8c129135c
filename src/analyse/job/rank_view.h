// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The parts of a trace that belong to one rank, and texts for its summary.

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse/time/coverage.h"
#include "analyse/time/device_work.h"
#include "sonde/analyse/rank_summary.h"
#include "sonde/trace.h"

namespace sonde::detail {

struct RankView {
  RankView(const Trace& trace, ProcessId process);

  const Trace& trace;
  ProcessId process;
  std::vector<TrackId> threads;
  std::vector<TrackId> workers;  // threads that only communicate
  TrackId main;                  // the thread with the steps, or else the one that launches most
  std::vector<SpanId> host_collectives;  // by start; on `workers` or any other thread
  std::vector<Work> kernels;             // by begin; those that compute
  std::vector<Work> copies;              // by begin
  std::vector<Work> communication;       // kernels that communicate, by begin
  Coverage computing;                    // by kernels

 private:
  void sort_threads();
  void sort_work();
};

// Texts of a trace as places in RankSummary::texts, each once.
class SummaryTexts {
 public:
  SummaryTexts(const Trace& trace, std::vector<std::string>& texts)
      : trace_(trace), texts_(texts) {}
  std::uint32_t place(StringId id);
  std::uint32_t place(std::string_view text);

 private:
  const Trace& trace_;
  std::vector<std::string>& texts_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_id_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

// Fill the collectives, groups and kinds of `summary`.
void find_collectives(const RankView& view, SummaryTexts& texts, RankSummary& summary);
// What its devices ran, with HTA's definitions.
void find_device_work(const RankView& view, SummaryTexts& texts, RankSummary& summary);
// Fill its activities; its collectives must be there.
void find_activities(const RankView& view, SummaryTexts& texts, RankSummary& summary);

}  // namespace sonde::detail
