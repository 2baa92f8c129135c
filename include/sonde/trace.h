// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A recording as tables of columns, for reading. It never changes once built, a copy costs one
// reference count, and any number of threads may read it. TraceBuilder makes one.
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

#include <memory>
#include <string>
#include <string_view>

#include "sonde/result.h"
#include "sonde/trace/strings.h"
#include "sonde/trace/tables_gen.h"

namespace sonde {

class Trace {
 public:
  // A trace without rows.
  Trace();

  const TraceTables& tables() const noexcept { return data_->tables; }
  const ProcessTable& processes() const noexcept { return data_->tables.processes; }
  const TrackTable& tracks() const noexcept { return data_->tables.tracks; }
  const SpanTable& spans() const noexcept { return data_->tables.spans; }
  const DimTable& dims() const noexcept { return data_->tables.dims; }
  const OpArgumentTable& op_arguments() const noexcept { return data_->tables.op_arguments; }
  const KernelTable& kernels() const noexcept { return data_->tables.kernels; }
  const CopyTable& copies() const noexcept { return data_->tables.copies; }
  const ApiCallTable& api_calls() const noexcept { return data_->tables.api_calls; }
  const SyncTable& syncs() const noexcept { return data_->tables.syncs; }
  const CollectiveTable& collectives() const noexcept { return data_->tables.collectives; }
  const PythonCallTable& python_calls() const noexcept { return data_->tables.python_calls; }
  const AllocationTable& allocations() const noexcept { return data_->tables.allocations; }
  const FrameTable& frames() const noexcept { return data_->tables.frames; }
  const StackTable& stacks() const noexcept { return data_->tables.stacks; }
  const ModuleTable& modules() const noexcept { return data_->tables.modules; }
  const CounterTable& counters() const noexcept { return data_->tables.counters; }
  const InstantTable& instants() const noexcept { return data_->tables.instants; }
  const FlowTable& flows() const noexcept { return data_->tables.flows; }
  const WindowTable& windows() const noexcept { return data_->tables.windows; }
  const DeviceTable& devices() const noexcept { return data_->tables.devices; }
  const MetadataTable& metadata() const noexcept { return data_->tables.metadata; }
  const LedgerTable& ledger() const noexcept { return data_->tables.ledger; }
  const ExtraTable& extras() const noexcept { return data_->tables.extras; }
  const ArgumentListTable& argument_lists() const noexcept { return data_->tables.argument_lists; }
  const TensorUseTable& tensor_uses() const noexcept { return data_->tables.tensor_uses; }

  const StringPool& strings() const noexcept { return data_->strings; }
  // Empty for an invalid id. The view is valid as long as some copy of this trace lives.
  std::string_view string(StringId id) const noexcept { return data_->strings[id]; }
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
  Nanos first_ns() const noexcept { return data_->first_ns; }
  Nanos last_ns() const noexcept { return data_->last_ns; }

 private:
  friend class TraceBuilder;
  struct Data {
    TraceTables tables;
    StringPool strings;
    std::vector<std::uint32_t> track_begin;  // first span of each track, then the end of the last
    Nanos first_ns = 0;
    Nanos last_ns = 0;
  };
  explicit Trace(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

// Reads a `.sonde` file. If it is truncated or damaged, the ledger says what is missing.
Result<Trace> open_sonde(const std::string& path);

// Writes a `.sonde` file, completely or not at all.
Result<void> save_trace(const Trace& trace, const std::string& path);

}  // namespace sonde
