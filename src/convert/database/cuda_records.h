// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CUPTI's records as nvprof and Nsight Systems keep them: a table for each kind of record, with the
// names of CUPTI's fields as columns. The two differ in how they write names, threads and kinds of
// memory. A table has the columns that the version of the profiler knew.
//
//   SqliteCuda cuda(tables, {…});
//   SONDE_TRY_VOID(cuda.read_calls("CUPTI_ACTIVITY_KIND_RUNTIME", SpanKind::CudaRuntime));
//   cuda.add_range(…);
//   cuda.link_calls(…);
//   SONDE_TRY_VOID(cuda.read_kernels("CUPTI_ACTIVITY_KIND_KERNEL"));
//
// Device work belongs to the call with the same correlation, and so to the range in which the call
// was made.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "convert/database/ranges.h"
#include "convert/database/tables.h"

namespace sonde {

struct CudaDialect {
  std::int64_t pid = 0;            // of records that have none
  std::int64_t pageable_kind = 1;  // the number of the first kind of memory
};

// A thread of a process in one number, as Nsight Systems writes it.
struct GlobalThread {
  std::int64_t pid;
  std::int64_t tid;
};
GlobalThread global_thread(std::int64_t serialised);

class SqliteCuda {
 public:
  SqliteCuda(SqliteTables& tables, const CudaDialect& dialect)
      : tables_(tables), dialect_(dialect) {}

  // Reads calls of the runtime or the driver. A row that has its own kind overrides `kind`.
  Result<void> read_calls(std::string_view table, SpanKind kind);
  // Adds a range that a thread opened and closed. Its calls and their work refer to it by `id`.
  void add_range(TrackId thread, const When& when, std::int64_t id);
  // Finds the ranges of the calls. `across_threads` also looks at other threads for calls outside
  // all ranges of their own thread.
  void link_calls(bool across_threads);

  Result<void> read_kernels(std::string_view table);
  // Reads launches of whole graphs whose kernels were not recorded.
  Result<void> read_graphs(std::string_view table);
  Result<void> read_copies(std::string_view table);
  Result<void> read_fills(std::string_view table);
  // `devices` maps contexts to devices, for tables that do not name the device.
  Result<void> read_syncs(std::string_view table,
                          const std::map<std::int64_t, std::int64_t>& devices);
  // The track of the call with that correlation; invalid if there is none.
  TrackId thread_of(std::int64_t pid, std::int64_t correlation) const;
  // Counts work without a call.
  void finish();

 private:
  struct Call {
    std::uint32_t process;
    std::int64_t correlation;
    SpanId span;
    friend bool operator<(const Call& a, const Call& b) {
      return std::tie(a.process, a.correlation) < std::tie(b.process, b.correlation);
    }
  };
  const Call* call_of(ProcessId process, std::int64_t correlation) const;
  StringId call_name(const SqliteRows& row, SpanKind kind);
  // Fills what all device work has: pid, device, context, stream and correlation, in this order
  // from the column `first` on.
  void place(const SqliteRows& row, std::size_t first, SpanRow& span);
  StringId copy_name(const CopyRow& copy);
  void add_copy(SqliteRows& row, SpanRow span, CopyRow copy);
  MemoryKind memory_kind(std::optional<std::int64_t> number) const;

  SqliteTables& tables_;
  CudaDialect dialect_;
  std::vector<Call> calls_;
  std::vector<TimeRange> call_times_;  // in the order of calls_ until link_calls() sorts it
  std::vector<TimeRange> ranges_;
  std::vector<std::int64_t> range_ids_;
  std::map<std::tuple<CopyKind, MemoryKind, MemoryKind>, StringId> copy_names_;
  std::uint64_t uncorrelated_ = 0;
};

}  // namespace sonde
