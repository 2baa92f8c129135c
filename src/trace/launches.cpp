// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/launches.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/run_sort.h"

namespace sonde {

namespace {

struct OwnerKey {
  std::uint32_t process;
  std::int64_t id;
  friend bool operator==(const OwnerKey&, const OwnerKey&) = default;
};

struct OwnerHash {
  std::size_t operator()(const OwnerKey& key) const noexcept {
    const std::uint64_t mixed = static_cast<std::uint64_t>(key.id) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>((mixed >> 20) ^ mixed ^ key.process);
  }
};

OwnerKey owner_key(const TraceTables& tables, std::size_t span) {
  return {process_of(tables, span).value(), tables.spans.external_id[span]};
}

std::vector<std::uint32_t> launched_rows(const SpanTable& spans) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!is_launched(spans.kind[i])) continue;
    if (spans.correlation[i] != 0 || spans.external_id[i] != 0)
      rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

// There are many operators, but little work for which only an operator is known. So only operators
// that some work refers to are searched for.
void find_operators(TraceTables& tables, const std::vector<std::uint32_t>& work) {
  SpanTable& spans = tables.spans;
  std::unordered_map<OwnerKey, SpanId, OwnerHash> owners;
  for (const std::uint32_t row : work) owners.try_emplace(owner_key(tables, row));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans.external_id[i] == 0 || !is_pytorch_operator(spans.kind[i])) continue;
    const auto found = owners.find(owner_key(tables, i));
    if (found != owners.end() && !found->second.valid()) found->second = SpanId(i);
  }
  for (const std::uint32_t row : work) spans.launch.set(row, owners.at(owner_key(tables, row)));
}

}  // namespace

ProcessId process_of(const TraceTables& tables, std::size_t span) {
  const TrackId track = tables.spans.track[span];
  return track.valid() ? tables.tracks.process[track] : ProcessId();
}

CallsByNumber::CallsByNumber(const TraceTables& tables) {
  const SpanTable& spans = tables.spans;
  if (!spans.correlation.materialised()) return;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!is_call(spans.kind[i]) || spans.correlation[i] == 0) continue;
    calls_.push_back(
        {process_of(tables, i).value(), static_cast<std::uint32_t>(i), spans.correlation[i]});
  }
  // Stable: calls with one number stay in row order.
  run_sort(calls_, [](const Call& a, const Call& b) {
    return std::tie(a.process, a.number) < std::tie(b.process, b.number);
  });
  keep_one_each(spans);
}

void CallsByNumber::keep_one_each(const SpanTable& spans) {
  std::size_t kept = 0;
  for (const Call& call : calls_) {
    const bool is_first = kept == 0 || calls_[kept - 1].process != call.process ||
                          calls_[kept - 1].number != call.number;
    if (is_first) {
      calls_[kept++] = call;
      continue;
    }
    Call& one = calls_[kept - 1];
    const Nanos end_ns = spans.start_ns[one.row] + spans.duration_ns[one.row];
    if (spans.start_ns[call.row] >= end_ns) one = call;
  }
  calls_.resize(kept);
}

SpanId CallsByNumber::find(ProcessId process, std::int64_t number) const {
  if (number == 0) return {};
  const auto wanted = std::tuple(process.value(), number);
  const auto found =
      std::lower_bound(calls_.begin(), calls_.end(), wanted, [](const Call& call, const auto& key) {
        return std::tuple(call.process, call.number) < key;
      });
  const bool is_there =
      found != calls_.end() && std::tuple(found->process, found->number) == wanted;
  return is_there ? SpanId(found->row) : SpanId();
}

void fill_launches(TraceTables& tables) {
  SpanTable& spans = tables.spans;
  spans.launch.clear();
  spans.launch.resize(spans.size());
  if (!spans.correlation.materialised() && !spans.external_id.materialised()) return;
  const std::vector<std::uint32_t> launched = launched_rows(spans);
  if (launched.empty()) return;
  const CallsByNumber calls(tables);
  std::vector<std::uint32_t> without_call;
  for (const std::uint32_t row : launched) {
    const SpanId call = calls.find(process_of(tables, row), spans.correlation[row]);
    spans.launch.set(row, call);
    if (!call.valid() && spans.external_id[row] != 0) without_call.push_back(row);
  }
  if (!without_call.empty()) find_operators(tables, without_call);
}

}  // namespace sonde
