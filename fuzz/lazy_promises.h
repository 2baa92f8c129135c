// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What fuzz targets demand of a file that is decoded late.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "decode/open_sonde.h"
#include "file/block_file.h"
#include "promises.h"
#include "sonde/trace.h"

namespace sonde::testing {

// What was given out before the events were decoded holds afterwards.
inline void check_lazy(const BlockFile& file) {
  BlockFile copy = file;
  const Result<Trace> trace = read_trace_lazily(copy);
  if (!trace) return;
  const TrackTable& tracks = trace->tracks();
  const TraceCounts counts = trace->counts();
  require(counts.spans_of_track.size() == tracks.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tracks.size(); ++i) names.emplace_back(trace->string(tracks.name[i]));
  require(trace->first_ns() <= trace->last_ns());
  check_promises(*trace);
  for (std::size_t i = 0; i < names.size(); ++i) require(trace->string(tracks.name[i]) == names[i]);
  // And what is decoded late is what is decoded at once.
  const Result<Trace> whole = read_trace(file);
  require(whole && whole->ledger().size() == trace->ledger().size());
  require(whole->spans().start_ns == trace->spans().start_ns);
  require(whole->spans().duration_ns == trace->spans().duration_ns);
  require(whole->spans().parent == trace->spans().parent);
  require(whole->allocations().time_ns == trace->allocations().time_ns);
  // What the operator table is made of is the same without the rest.
  BlockFile again = file;
  const Result<Trace> some = read_trace_lazily(again, nullptr, ReadFor::OperatorTable);
  require(some && some->spans().start_ns == trace->spans().start_ns);
  check_promises(*some);
  require(some->spans().name == trace->spans().name);
  require(some->spans().sequence_number == trace->spans().sequence_number);
  require(some->spans().arguments == trace->spans().arguments);
  require(some->allocations().time_ns == trace->allocations().time_ns);
  require(some->allocations().bytes == trace->allocations().bytes);
  const Result<Trace> least = read_trace_lazily(again, nullptr, ReadFor::TableByName);
  require(least && least->spans().start_ns == trace->spans().start_ns);
  check_promises(*least);
  require(least->spans().name == trace->spans().name);
  require(least->allocations().bytes == trace->allocations().bytes);
  for (const TracePart& part : {TracePart{.from_ns = 1000, .to_ns = 2000}, TracePart{.last_ns = 1},
                                TracePart{.steps = std::pair(1, 2)}}) {
    const Result<Trace> taken = read_trace_part(copy, part);
    if (taken) check_promises(*taken);
  }
}

}  // namespace sonde::testing
