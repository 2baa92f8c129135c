// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// For what a rank is to blame: from the search for causes (causes.cpp) to the verdict
// (verdict.cpp).

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analyse/job/job_data.h"

namespace sonde::detail {

using CauseKey =
    std::tuple<ActivityKind, std::string, std::string, std::string>;  // name, op, range

struct CauseSum {
  Nanos extra_ns = 0;
  Nanos own_ns = 0;
  Nanos others_ns = 0;
};

struct Blame {
  std::vector<Stretch> delays;
  std::map<CauseKey, CauseSum> causes;
  std::set<std::uint32_t> matches;
  std::set<std::int64_t> steps;
  Nanos worst_ns = 0;
  Nanos chased_ns = 0;
  // Of whole steps in which it was late: what it did longer, in all, and how late it was.
  std::map<CauseKey, CauseSum> step_causes;
  Nanos step_longer_ns = 0;
  Nanos step_delay_ns = 0;
  std::map<std::uint32_t, Nanos> together;  // ranks that were late with it, and how long
};

// What each rank did longer than others, and when others had to wait for it.
std::vector<Blame> find_blame(const JobData& data);
// Adds up the blame, and decides whether somebody is to be named.
void judge_job(JobData& data, const std::vector<Blame>& blame);

}  // namespace sonde::detail
