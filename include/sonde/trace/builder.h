// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes a Trace: fill tables, then build.
//
//   TraceBuilder builder;
//   const ProcessId process = builder.processes().push_back({.pid = 42});
//   const TrackId track = builder.tracks().push_back({.process = process, .id = 43});
//   const StringId name = builder.intern("step");
//   builder.spans().push_back({.start_ns = t, .duration_ns = 5, .name = name, .track = track});
//   SONDE_TRY(const Trace trace, std::move(builder).build());
//
// You may fill columns one by one (builder.spans().start_ns.append(…)); in the end all columns of a
// table must have the same length. append() joins tables that threads filled separately; it moves
// whole columns, and ids inside them must already be those of the joined table. Not thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

class TraceBuilder {
 public:
  TraceTables& tables() noexcept { return data_.tables; }
  ProcessTable& processes() noexcept { return data_.tables.processes; }
  TrackTable& tracks() noexcept { return data_.tables.tracks; }
  SpanTable& spans() noexcept { return data_.tables.spans; }
  DimTable& dims() noexcept { return data_.tables.dims; }
  OpArgumentTable& op_arguments() noexcept { return data_.tables.op_arguments; }
  KernelTable& kernels() noexcept { return data_.tables.kernels; }
  CopyTable& copies() noexcept { return data_.tables.copies; }
  ApiCallTable& api_calls() noexcept { return data_.tables.api_calls; }
  SyncTable& syncs() noexcept { return data_.tables.syncs; }
  CollectiveTable& collectives() noexcept { return data_.tables.collectives; }
  PythonCallTable& python_calls() noexcept { return data_.tables.python_calls; }
  AllocationTable& allocations() noexcept { return data_.tables.allocations; }
  FrameTable& frames() noexcept { return data_.tables.frames; }
  StackTable& stacks() noexcept { return data_.tables.stacks; }
  ModuleTable& modules() noexcept { return data_.tables.modules; }
  CounterTable& counters() noexcept { return data_.tables.counters; }
  InstantTable& instants() noexcept { return data_.tables.instants; }
  FlowTable& flows() noexcept { return data_.tables.flows; }
  WindowTable& windows() noexcept { return data_.tables.windows; }
  DeviceTable& devices() noexcept { return data_.tables.devices; }
  MetadataTable& metadata() noexcept { return data_.tables.metadata; }
  LedgerTable& ledger() noexcept { return data_.tables.ledger; }
  ExtraTable& extras() noexcept { return data_.tables.extras; }
  ArgumentListTable& argument_lists() noexcept { return data_.tables.argument_lists; }
  TensorUseTable& tensor_uses() noexcept { return data_.tables.tensor_uses; }
  TensorRoleTable& tensor_roles() noexcept { return data_.tables.tensor_roles; }

  StringPool& strings() noexcept { return data_.strings; }
  StringId intern(std::string_view text) { return data_.strings.intern(text); }

  void add_ledger(LedgerKind kind, std::uint64_t count, std::string_view source = {},
                  std::string_view detail = {}, ProcessId process = {});

  // Spans on thread tracks without a parent get the innermost span that contains them. Spans that
  // partly overlap are not related, and spans flagged Async do not nest. Spans are sorted into row
  // order (a stable sort; of equal spans, the one added first is the outer one), and every id that
  // refers to a span is updated. spans.launch is computed here; what was in it is replaced.
  //
  // Invalid values are left out and counted in the ledger as Undecodable: ids of rows that do not
  // exist, unknown enumerators, negative durations, parents that come after their children. Fails
  // only if the columns of a table differ in length or a table has 2^32 rows.
  Result<Trace> build() &&;

 private:
  Trace::Data data_;
};

}  // namespace sonde
