// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "view/timeline/curves.h"
#include "view/timeline/trace_answers.h"

namespace sonde::detail {

// What a page must know before it draws: length, processes, tracks, curves, steps, windows.
// `spans_of_track` replaces the number of spans of each track, if not empty.
std::string trace_json(const TraceAnswers& answers, const std::vector<Curve>& curves,
                       std::span<const std::uint32_t> spans_of_track = {});

// A name as labels show it: readable, and not longer than a label can be.
std::string label_text(std::string_view name);

}  // namespace sonde::detail
