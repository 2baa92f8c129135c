// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/lazy_trace.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/sum.h"

namespace sonde {

Trace::State::State() = default;
Trace::State::State(Data&& data) : built(std::make_unique<const Data>(std::move(data))) {
  whole.store(built.get(), std::memory_order_relaxed);  // nobody else has it yet
}
Trace::State::~State() = default;

Trace::Trace() : state_(std::make_shared<State>(Data())) {}

const Trace::Data& Trace::outline() const noexcept {
  return state_->unread->outline.whole();
}

const Trace::Data& Trace::decode() const noexcept {
  Unread& unread = *state_->unread;
  std::call_once(unread.once, [&] {
    Result<Trace> read = unread.read(unread.outline.strings());
    unread.read = nullptr;  // and what it held, such as the mapped file
    if (read) {
      unread.decoded = *std::move(read);
    } else {
      Data failed = unread.outline.whole();
      LedgerRow row;
      row.kind = LedgerKind::DamagedBytes;
      row.count = 1;
      row.detail = failed.strings.intern(read.error().message);
      failed.tables.ledger.push_back(row);
      failed.track_begin.assign(failed.tables.tracks.size() + 2, 0);
      unread.decoded = Trace(std::make_shared<State>(std::move(failed)));
    }
    // Pairs with the acquire in whole() and known().
    state_->whole.store(&unread.decoded.whole(), std::memory_order_release);
  });
  return *state_->whole.load(std::memory_order_acquire);
}

Trace LazyTrace::make(const Trace& outline, TraceCounts counts, Read read,
                      std::optional<OperatorDetails> operators) {
  auto state = std::make_shared<Trace::State>();
  state->unread = std::make_unique<Trace::Unread>();
  state->unread->outline = outline;
  state->unread->counts = std::move(counts);
  state->unread->read = std::move(read);
  state->unread->operators = operators;
  return Trace(std::move(state));
}

std::optional<OperatorDetails> LazyTrace::operator_details(const Trace& trace) {
  if (trace.state_->whole.load(std::memory_order_acquire) != nullptr) return std::nullopt;
  return trace.state_->unread->operators;
}

void StepCounts::add(std::int64_t number, Nanos duration_ns) {
  first = count == 0 ? number : std::min(first, number);
  last = std::max(last, number);
  detail::add_to(total_ns, duration_ns);
  ++count;
}

TraceCounts Trace::counts() const {
  if (state_->whole.load(std::memory_order_acquire) == nullptr) return state_->unread->counts;
  const SpanTable& table = spans();
  TraceCounts counts;
  counts.spans = table.size();
  std::array<std::uint64_t, 256> by_kind{};
  for (std::size_t row = 0; row < table.size(); ++row) {
    const SpanKind kind = table.kind[row];
    ++by_kind[static_cast<std::uint8_t>(kind)];
    if (kind == SpanKind::Step) counts.steps.add(table.step[row], table.duration_ns[row]);
  }
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    if (by_kind[kind] > 0) counts.spans_by_kind[static_cast<SpanKind>(kind)] = by_kind[kind];
  }
  for (std::size_t i = 0; i < tracks().size(); ++i) {
    counts.spans_of_track.push_back(track_spans(TrackId(i)).size());
  }
  counts.instants = instants().size();
  counts.counters = counters().size();
  counts.allocations = allocations().size();
  counts.flows = flows().size();
  return counts;
}

}  // namespace sonde
