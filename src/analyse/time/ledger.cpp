// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/ledger.h"

#include <algorithm>

namespace sonde {
namespace {

bool is_maximum(LedgerKind kind) {
  return kind == LedgerKind::ClockErrorNs || kind == LedgerKind::EventCostPs;
}

void add_to_ledger(LedgerTotals& ledger, LedgerKind kind, std::uint64_t count,
                   std::string_view detail) {
  LedgerTotal& total = ledger[kind];
  total.count = is_maximum(kind) ? std::max(total.count, count) : total.count + count;
  const bool seen =
      std::find(total.details.begin(), total.details.end(), detail) != total.details.end();
  if (!detail.empty() && !seen) total.details.push_back(detail);
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
    case LedgerKind::Unwritten:
    case LedgerKind::WorkMissing:
    case LedgerKind::TextsCut:
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
    case LedgerKind::OutOfWindow:  // they were not wanted
      return LedgerClass::Remark;
  }
  return LedgerClass::Remark;  // from a later version
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
      return "kernels, copies or fills without the call that launched them";
    case LedgerKind::Undecodable:
      return "events or references that could not be decoded";
    case LedgerKind::DamagedBytes:
      return "bytes of the file that could not be read";
    case LedgerKind::ChunksLost:
      return "whole buffers lost";
    case LedgerKind::ClockErrorNs:
      return "ns by which a time may be off";
    case LedgerKind::DrainerNs:
      return "ns of CPU time to write the file";
    case LedgerKind::EventCostPs:
      return "ps to record one event";
    case LedgerKind::Forked:
      return "processes forked from a recorded one";
    case LedgerKind::NotCrashSafe:
      return "recordings that a crash would have truncated";
    case LedgerKind::SourceFailed:
      return "sources that could not be started";
    case LedgerKind::Truncated:
      return "truncated files";
    case LedgerKind::Unwritten:
      return "events that could not be written";
    case LedgerKind::WorkMissing:
      return "calls whose device work had not arrived yet";
    case LedgerKind::TextsCut:
      return "names and texts too long to be kept whole";
  }
  return "of a kind this version does not know";
}

LedgerTotals ledger_totals(const Trace& trace) {
  LedgerTotals totals;
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t row = 0; row < ledger.size(); ++row)
    add_to_ledger(totals, ledger.kind[row], ledger.count[row], trace.string(ledger.detail[row]));
  return totals;
}

bool has(const LedgerTotals& ledger, LedgerClass wanted) {
  return std::any_of(ledger.begin(), ledger.end(), [&](const auto& entry) {
    return ledger_class(entry.first) == wanted && entry.second.count > 0;
  });
}

std::uint64_t count_of(const LedgerTotals& ledger, LedgerKind kind) {
  const auto found = ledger.find(kind);
  return found == ledger.end() ? 0 : found->second.count;
}

}  // namespace sonde
