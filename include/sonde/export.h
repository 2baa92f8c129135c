// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes a trace in formats of other tools.
//
//   SONDE_TRY_VOID(export_chrome_trace(trace, "step.pt.trace.json.gz"));  // Kineto's JSON
//   SONDE_TRY_VOID(export_perfetto(trace, "step.pftrace"));               // Perfetto's protobuf
//
// A file appears complete or not at all; the error contains the path and the reason. Memory stays
// bounded whatever the size of the trace. The same trace gives the same bytes, on any number of
// threads.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/clock_shift.h"

namespace sonde {

struct ChromeExportOptions {
  unsigned threads = 0;  // threads to use; 0: one per core
};

// JSON as PyTorch's profiler (libkineto) writes it, for Perfetto, chrome://tracing, HTA and
// open_trace(); compressed if `path` ends in `.gz`. The result is valid JSON and UTF-8, whatever
// the names contain. docs/kineto-format.md says which column becomes which key.
Result<void> export_chrome_trace(const Trace& trace, const std::string& path,
                                 const ChromeExportOptions& options = {});

// Perfetto's own format, about a tenth of the JSON's size. Unsupported if Sonde was built without
// protozero.
Result<void> export_perfetto(const Trace& trace, const std::string& path);

// A trace among others in one file. It is opened when its turn comes, and is not kept.
struct JoinedTrace {
  std::string name;  // of its processes, "rank 3"
  ClockShift clock;
  std::function<Result<Trace>()> open;
};
// All of them in one file and on one clock, as the ranks of a job are (analyse/job.h).
Result<void> export_perfetto(const std::vector<JoinedTrace>& traces, const std::string& path);

// The tables with names inline, as docs/sql.md describes them: a folder with a Parquet file for
// each table. The folder must not exist yet.
Result<void> export_parquet(const Trace& trace, const std::string& folder);
// Several traces in one folder: folder/rank=0/spans.parquet, … `parts` names the folders inside,
// `open` opens the trace of each, one at a time.
Result<void> export_parquet_parts(const std::vector<std::string>& parts,
                                  const std::function<Result<Trace>(std::size_t)>& open,
                                  const std::string& folder);
// The same as streams of Arrow's IPC format.
Result<void> export_arrow(const Trace& trace, const std::string& folder);
// The same as an SQLite database with indexes. Unsupported if Sonde was built without SQLite.
Result<void> export_sqlite(const Trace& trace, const std::string& path);

// A profile for pprof, Parca, Pyroscope and Speedscope: host time, device time, allocated bytes and
// counts by path of calls. Unsupported if Sonde was built without protozero.
Result<void> export_pprof(const Trace& trace, const std::string& path);

}  // namespace sonde
