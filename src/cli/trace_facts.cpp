// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/trace_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace sonde::cli {
namespace {

bool is_maximum(LedgerKind kind) {
  return kind == LedgerKind::ClockErrorNs || kind == LedgerKind::EventCostPs;
}

void add_to_ledger(TraceFacts& facts, LedgerKind kind, std::uint64_t count,
                   std::string_view detail) {
  LedgerTotal& total = facts.ledger[kind];
  total.count = is_maximum(kind) ? std::max(total.count, count) : total.count + count;
  const bool seen =
      std::find(total.details.begin(), total.details.end(), detail) != total.details.end();
  if (!detail.empty() && !seen) total.details.push_back(detail);
}

void add_step(StepFacts& steps, std::int64_t number, Nanos duration) {
  steps.first = steps.count == 0 ? number : std::min(steps.first, number);
  steps.last = std::max(steps.last, number);
  steps.total_ns += duration;
  ++steps.count;
}

}  // namespace

LedgerClass ledger_class(LedgerKind kind) {
  switch (kind) {
    case LedgerKind::DroppedByBudget:
    case LedgerKind::DroppedInSignal:
    case LedgerKind::Overwritten:
    case LedgerKind::Unmatched:
    case LedgerKind::Uncorrelated:
    case LedgerKind::Undecodable:
    case LedgerKind::DamagedBytes:
    case LedgerKind::ChunksLost:
    case LedgerKind::SourceFailed:
      return LedgerClass::Lost;
    case LedgerKind::Unfinished:
    case LedgerKind::Truncated:
      return LedgerClass::Incomplete;
    case LedgerKind::EventsWritten:
    case LedgerKind::ClockErrorNs:
    case LedgerKind::DrainerNs:
    case LedgerKind::EventCostPs:
      return LedgerClass::Cost;
    case LedgerKind::Note:
    case LedgerKind::Forked:
    case LedgerKind::NotCrashSafe:
    case LedgerKind::OutOfWindow:  // nobody asked for them
      return LedgerClass::Remark;
  }
  return LedgerClass::Remark;  // of a later version
}

std::string_view ledger_phrase(LedgerKind kind) {
  switch (kind) {
    case LedgerKind::Note:
      return "remarks";
    case LedgerKind::EventsWritten:
      return "events written";
    case LedgerKind::DroppedByBudget:
      return "events dropped because the buffers were full";
    case LedgerKind::DroppedInSignal:
      return "events dropped in signal handlers";
    case LedgerKind::Overwritten:
      return "events overwritten by newer ones (flight recorder)";
    case LedgerKind::Unfinished:
      return "spans whose end was not seen";
    case LedgerKind::OutOfWindow:
      return "events outside all windows";
    case LedgerKind::Unmatched:
      return "ends without a beginning";
    case LedgerKind::Uncorrelated:
      return "pieces of device work without the call behind them";
    case LedgerKind::Undecodable:
      return "events or references that could not be decoded";
    case LedgerKind::DamagedBytes:
      return "bytes of the file that could not be read";
    case LedgerKind::ChunksLost:
      return "whole buffers lost";
    case LedgerKind::ClockErrorNs:
      return "ns by which a time may be off";
    case LedgerKind::DrainerNs:
      return "ns of processor time to write the file";
    case LedgerKind::EventCostPs:
      return "ps to record one event";
    case LedgerKind::Forked:
      return "processes forked from a recorded one";
    case LedgerKind::NotCrashSafe:
      return "recordings that a crash would have cut short";
    case LedgerKind::SourceFailed:
      return "sources that could not be started";
    case LedgerKind::Truncated:
      return "files without a proper end";
  }
  return "of a kind this version does not know";
}

bool TraceFacts::has(LedgerClass wanted) const {
  return std::any_of(ledger.begin(), ledger.end(), [&](const auto& entry) {
    return ledger_class(entry.first) == wanted && entry.second.count > 0;
  });
}

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
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t row = 0; row < ledger.size(); ++row) {
    add_to_ledger(facts, ledger.kind[row], ledger.count[row], trace.string(ledger.detail[row]));
  }
  return facts;
}

std::string utc_text(Nanos since_epoch) {
  constexpr Nanos kSecond = 1'000'000'000;
  const Nanos fraction = ((since_epoch % kSecond) + kSecond) % kSecond;
  const std::time_t seconds = (since_epoch - fraction) / kSecond;
  std::tm calendar{};
  if (::gmtime_r(&seconds, &calendar) == nullptr) return std::to_string(since_epoch) + " ns";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", calendar.tm_year + 1900,
                     calendar.tm_mon + 1, calendar.tm_mday, calendar.tm_hour, calendar.tm_min,
                     calendar.tm_sec, fraction / 1'000'000);
}

}  // namespace sonde::cli
