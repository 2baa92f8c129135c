// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Slices and instants of a track as Perfetto events, with the most useful arguments.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "convert/kineto/write/plan.h"
#include "convert/kineto/write/span_join.h"
#include "convert/kineto/write/span_lanes.h"
#include "convert/kineto/write/track_points.h"
#include "convert/perfetto/sequence.h"
#include "convert/perfetto/tracks.h"
#include "sonde/export.h"
#include "sonde/trace.h"

namespace sonde::detail {

// What is worked out once for all tracks.
struct PerfettoPlan {
  PerfettoPlan(const Trace& source, const ClockShift& shift, const PerfettoPlace& of);
  PerfettoPlan(const PerfettoPlan&) = delete;
  PerfettoPlan& operator=(const PerfettoPlan&) = delete;

  const Trace& trace;
  const PerfettoPlace& place;
  ClockShift clock;
  Nanos shift_ns;  // added to all times, because the file has no negative ones
  SpanLanes lanes;
  FlowTable derived_flows;
  const FlowTable& flows;
  SpanJoin kernels;
  SpanJoin copies;
  SpanJoin collectives;
  SpanJoin flows_from;
  SpanJoin flows_to;
  TrackPoints points;
  ExtraJoin extras;
  ExtraJoin instant_extras;

  // A time as it is written.
  Nanos at(Nanos time_ns) const { return std::max<Nanos>(clock.shifted(time_ns) + shift_ns, 0); }
};

// Writes one track in one pass over its spans. `flush` is called between events and may take what
// was written so far. If it returns false, writing stops.
class PerfettoSlices {
 public:
  PerfettoSlices(const PerfettoPlan& plan, PerfettoTracks& tracks, std::string& out,
                 std::uint32_t& last_sequence);
  void write(std::size_t track, const std::function<bool()>& flush);

 private:
  // A line of the picture, on which slices nest.
  struct Line {
    PerfettoSequence sequence;
    std::vector<Nanos> open_ends;
  };
  struct Cursors;

  Line& line(std::uint32_t lane);
  Line& async_line(SpanId span);
  std::unique_ptr<Line> new_line(std::uint64_t uuid);
  void begin(Line& line, SpanId span, Cursors& cursors);
  void end_until(Line& line, Nanos time_ns);
  void annotate(EventBuilder& event, SpanId span, Cursors& cursors);
  void annotate_kernel(EventBuilder& event, KernelId kernel);
  void annotate_collective(EventBuilder& event, CollectiveId collective);
  void annotate_extra(EventBuilder& event, ExtraId extra);
  void add_category(EventBuilder& event, StringId category);
  void annotate_string(EventBuilder& event, std::string_view key, StringId text);
  void add_flows(EventBuilder& event, SpanId span, Cursors& cursors);
  void instant(InstantId row);
  std::string utf8(StringId id) const { return valid_utf8(plan_.trace.string(id)); }

  const PerfettoPlan& plan_;
  const SpanTable& spans_;
  PerfettoTracks& tracks_;
  std::string& out_;
  std::uint32_t& last_sequence_;
  // Of the track being written.
  TrackId track_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<std::unique_ptr<Line>> async_lines_;
  std::vector<ExtraId> extras_;  // of the instant being written
};

}  // namespace sonde::detail
