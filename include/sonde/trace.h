// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A recording as tables of columns, for reading. It never changes once built, a copy costs one
// reference count, and any number of threads may read it. TraceBuilder makes one.
//
// A recording that was opened from its file is decoded when a table of its events is first asked
// for; processes, tracks, windows, metadata, ledger and counts() are there at once. Damage that is
// found only then is in the ledger from then on. Do not change or cut the file before that.
//
//   SONDE_TRY(const Trace trace, open_sonde("step.sonde"));
//   for (SpanId span : trace.track_spans(TrackId(0))) {
//     std::cout << trace.name(span) << " " << trace.spans().duration_ns[span] << "\n";
//   }
//
// Spans are grouped by track and ordered by start, longer ones first if starts are equal, so a
// parent's row always comes before its children's. Other tables keep the order in which they were
// filled. Every id in a table is either invalid or an existing row, durations are not negative, and
// no difference of two times overflows. docs/trace-model.md lists all columns.

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "sonde/result.h"
#include "sonde/trace/counts.h"
#include "sonde/trace/strings.h"
#include "sonde/trace/tables_gen.h"

namespace sonde {

class Trace {
 public:
  // A trace without rows.
  Trace();

  const TraceTables& tables() const noexcept { return whole().tables; }
  const ProcessTable& processes() const noexcept { return known().tables.processes; }
  const TrackTable& tracks() const noexcept { return known().tables.tracks; }
  const SpanTable& spans() const noexcept { return whole().tables.spans; }
  const DimTable& dims() const noexcept { return whole().tables.dims; }
  const OpArgumentTable& op_arguments() const noexcept { return whole().tables.op_arguments; }
  const KernelTable& kernels() const noexcept { return whole().tables.kernels; }
  const CopyTable& copies() const noexcept { return whole().tables.copies; }
  const ApiCallTable& api_calls() const noexcept { return whole().tables.api_calls; }
  const SyncTable& syncs() const noexcept { return whole().tables.syncs; }
  const CollectiveTable& collectives() const noexcept { return whole().tables.collectives; }
  const PythonCallTable& python_calls() const noexcept { return whole().tables.python_calls; }
  const AllocationTable& allocations() const noexcept { return whole().tables.allocations; }
  const FrameTable& frames() const noexcept { return whole().tables.frames; }
  const StackTable& stacks() const noexcept { return whole().tables.stacks; }
  const ModuleTable& modules() const noexcept { return whole().tables.modules; }
  const CounterTable& counters() const noexcept { return whole().tables.counters; }
  const InstantTable& instants() const noexcept { return whole().tables.instants; }
  const FlowTable& flows() const noexcept { return whole().tables.flows; }
  const WindowTable& windows() const noexcept { return known().tables.windows; }
  const DeviceTable& devices() const noexcept { return whole().tables.devices; }
  const MetadataTable& metadata() const noexcept { return known().tables.metadata; }
  const LedgerTable& ledger() const noexcept { return known().tables.ledger; }
  const ExtraTable& extras() const noexcept { return whole().tables.extras; }
  const ArgumentListTable& argument_lists() const noexcept { return whole().tables.argument_lists; }
  const TensorUseTable& tensor_uses() const noexcept { return whole().tables.tensor_uses; }
  const TensorRoleTable& tensor_roles() const noexcept { return whole().tables.tensor_roles; }

  // How much there is of what. Does not decode the events if the file knows.
  TraceCounts counts() const;

  const StringPool& strings() const noexcept { return known().strings; }
  // Empty for an invalid id. The view lives as long as some copy of this trace.
  std::string_view string(StringId id) const noexcept { return known().strings[id]; }
  std::string_view name(SpanId span) const noexcept { return string(spans().name[span]); }
  Nanos end_ns(SpanId span) const noexcept {
    return spans().start_ns[span] + spans().duration_ns[span];
  }

  // The arguments of the span's call; empty if nothing is known.
  IdRange<OpArgumentId> arguments(SpanId span) const noexcept {
    const ArgumentListId list = spans().arguments[span];
    if (!list.valid() || argument_lists().count[list] <= 0) return {};
    const std::uint32_t first = argument_lists().first[list].value();
    return {first, first + static_cast<std::uint32_t>(argument_lists().count[list])};
  }

  IdRange<SpanId> all_spans() const noexcept {
    return {0, static_cast<std::uint32_t>(spans().size())};
  }
  // For an invalid track: the spans without a track.
  IdRange<SpanId> track_spans(TrackId track) const noexcept;

  // From the first to the last time of any window, span, instant, counter or allocation; 0 and 0
  // in a trace without any.
  Nanos first_ns() const noexcept { return known().first_ns; }
  Nanos last_ns() const noexcept { return known().last_ns; }

 private:
  friend class TraceBuilder;
  friend class LazyTrace;
  struct Data {
    TraceTables tables;
    StringPool strings;
    std::vector<std::uint32_t> track_begin;  // first span of each track, then the end of the last
    Nanos first_ns = 0;
    Nanos last_ns = 0;
  };
  struct Unread;  // src/trace/lazy_trace.h
  struct State {
    State();
    explicit State(Data&& built);
    ~State();
    std::unique_ptr<const Data> built;
    std::atomic<const Data*> whole{nullptr};  // null until it is decoded
    std::unique_ptr<Unread> unread;           // until then; it stays, for what refers to it
  };
  explicit Trace(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // Pairs with the release in decode().
  const Data& whole() const noexcept {
    const Data* const data = state_->whole.load(std::memory_order_acquire);
    return data != nullptr ? *data : decode();
  }
  const Data& known() const noexcept {
    const Data* const data = state_->whole.load(std::memory_order_acquire);
    return data != nullptr ? *data : outline();
  }
  const Data& decode() const noexcept;
  const Data& outline() const noexcept;

  std::shared_ptr<State> state_;
};

// Reads a `.sonde` file. If it is truncated or damaged, the ledger says what is missing.
Result<Trace> open_sonde(const std::string& path);

// Writes a `.sonde` file, completely or not at all.
Result<void> save_trace(const Trace& trace, const std::string& path);

}  // namespace sonde
