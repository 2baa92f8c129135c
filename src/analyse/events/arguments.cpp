// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The arguments of events that the trace keeps beside its columns.

#include <algorithm>
#include <string>

#include "analyse/events/event_data.h"
#include "base/json.h"

namespace sonde::detail {
namespace {

// The prefix of keys that belong to a foreign event itself, not to its arguments.
constexpr std::string_view kEventPrefix = "event.";

}  // namespace

const std::vector<ExtraOfSpan>& EventData::extras() const {
  std::call_once(extras_once_, [this] {
    const ExtraTable& table = trace.extras();
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table.of_table[i] != TableKind::Spans) continue;
      if (trace.string(table.key[i]).starts_with(kEventPrefix)) continue;
      extras_.push_back({table.of_row[i], static_cast<std::uint32_t>(i)});
    }
    std::stable_sort(extras_.begin(), extras_.end(),
                     [](const ExtraOfSpan& a, const ExtraOfSpan& b) { return a.span < b.span; });
  });
  return extras_;
}

std::string EventData::arguments(std::size_t event) const {
  if (!is_span(event)) return {};
  const auto& all = extras();
  auto at = std::lower_bound(
      all.begin(), all.end(), row[event],
      [](const ExtraOfSpan& extra, std::uint32_t span) { return extra.span < span; });
  std::string json;
  for (; at != all.end() && at->span == row[event]; ++at) {
    json += json.empty() ? "{" : ", ";
    append_json_string(json, trace.string(trace.extras().key[at->extra]));
    json += ": ";
    json += trace.string(trace.extras().value[at->extra]);
  }
  if (!json.empty()) json += '}';
  return json;
}

}  // namespace sonde::detail
