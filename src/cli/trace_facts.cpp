// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/trace_facts.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/format.h"

namespace sonde::cli {
namespace {

void add_step(StepFacts& steps, std::int64_t number, Nanos duration) {
  steps.first = steps.count == 0 ? number : std::min(steps.first, number);
  steps.last = std::max(steps.last, number);
  steps.total_ns += duration;
  ++steps.count;
}

}  // namespace

TraceFacts gather_facts(const Trace& trace) {
  TraceFacts facts;
  const SpanTable& spans = trace.spans();
  std::array<std::uint64_t, 256> by_kind{};
  for (std::size_t row = 0; row < spans.size(); ++row) {
    const SpanKind kind = spans.kind[row];
    ++by_kind[static_cast<std::uint8_t>(kind)];
    if (kind == SpanKind::Step) add_step(facts.steps, spans.step[row], spans.duration_ns[row]);
  }
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    if (by_kind[kind] > 0) facts.spans_by_kind[static_cast<SpanKind>(kind)] = by_kind[kind];
  }
  facts.ledger = ledger_totals(trace);
  return facts;
}

std::string utc_text(Nanos since_epoch) {
  constexpr Nanos kSecond = 1'000'000'000;
  const Nanos fraction = ((since_epoch % kSecond) + kSecond) % kSecond;
  const std::time_t seconds = (since_epoch - fraction) / kSecond;
  std::tm calendar{};
  if (::gmtime_r(&seconds, &calendar) == nullptr) return std::to_string(since_epoch) + " ns";
  return format_text("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", calendar.tm_year + 1900,
                     calendar.tm_mon + 1, calendar.tm_mday, calendar.tm_hour, calendar.tm_min,
                     calendar.tm_sec, fraction / 1'000'000);
}

}  // namespace sonde::cli
