// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What happened in an area of the timeline, by name: in some tracks, during some time.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "view/timeline/trace_answers.h"

namespace sonde::detail {

// Times count as far as they are within the area.
struct AreaRow {
  StringId name;
  SpanClass of = SpanClass::Foreign;  // of its first span
  std::uint64_t count = 0;
  Nanos total_ns = 0;
  Nanos self_ns = 0;       // without the spans inside
  Nanos device_ns = 0;     // of work that the spans launched, or spans inside them did
  std::int64_t bytes = 0;  // that copies and fills moved
};

struct Area {
  std::vector<AreaRow> rows;  // largest self time first
  bool has_device = true;     // false: too much work to say who launched it
};

// Times count from the start of the trace.
Area area(const TraceAnswers& answers, std::span<const std::uint32_t> tracks, Nanos from, Nanos to);
std::string area_json(const TraceAnswers& answers, const Area& area);

}  // namespace sonde::detail
