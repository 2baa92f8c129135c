// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Parts of the timeline as bytes, for a page that requests them. A tile is one track over 1,024
// buckets of a level. Tiles do not change while the trace does not.
//
//   request   level │ first tile │ tiles │ tracks n │ n × track            32-bit numbers
//   answer    for each track and tile:
//             track │ level │ tile │ n │ n × begin │ n × end               32-bit, begin and end float
//             n × span │ n × name │ n × count │ n × (row │ cover << 16 │ class << 24)
//
// All of it is little-endian. `class` is a SpanClass, plus 128 for a span whose end was not seen.

#include <string>
#include <string_view>

#include "sonde/result.h"
#include "view/timeline/timeline_index.h"

namespace sonde::detail {

inline constexpr Nanos kTileBuckets = 1024;
inline constexpr std::uint32_t kUnfinishedClass = 128;

// An error if the request makes no sense or asks for more than a page can show.
Result<std::string> tiles(const TimelineIndex& index, std::string_view request);

}  // namespace sonde::detail
