// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/answer/trace_facts.h"

#include <ctime>

#include "base/format.h"

namespace sonde::cli {
TraceFacts gather_facts(const Trace& trace) {
  return {.counts = trace.counts(), .ledger = ledger_totals(trace)};
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
