// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The commands of the program. Each takes its parsed options, prints its result to `out`, and
// returns an error for main() to print. One file per command; only options/ knows the parser.

#include <string>
#include <vector>

#include "cli/print/output.h"
#include "sonde/analyse/averages.h"
#include "sonde/analyse/table.h"
#include "sonde/open.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde::cli {

// check(): whether the options are valid, before anything is opened. If not, the usage was wrong.

enum class Format { Text, Json, Csv };

struct InfoOptions {
  std::string file;
  OpenOptions open;
  Format format = Format::Text;
  bool check = false;  // decode all of it, to find damage
};
Result<void> run_info(const InfoOptions& options, Output& out);

struct DumpOptions {
  std::string file;
  OpenOptions open;
};
Result<void> run_dump(const DumpOptions& options, Output& out);

struct TableCommand {
  std::string file;
  OpenOptions open;
  GroupBy group_by;
  TableOptions table;
  Format format = Format::Text;
  bool is_wide = false;       // all columns, however narrow the terminal is
  bool fits_terminal = true;  // if it is printed on one
};
Result<void> run_table(const TableCommand& options, Output& out);

struct EventsCommand {
  std::string file;
  OpenOptions open;
  TableOptions table;
  Format format = Format::Text;
};
Result<void> run_events(const EventsCommand& options, Output& out);

struct ExportCommand {
  std::string file;
  std::vector<std::string> others;  // more traces, for .parquet
  OpenOptions open;
  std::string output;
  std::string metric;       // weight of stacks; empty: self_cpu_time_total
  bool each_event = false;  // a line of stacks for each event, as PyTorch writes
};
Result<void> check(const ExportCommand& options);
Result<void> run_export(const ExportCommand& options, Output& out);

// With an output: the timeline as a file, in the format of its suffix. Without: a report.
struct MemoryCommand {
  std::string file;
  OpenOptions open;
  std::string device;  // "cuda:0"; empty: the first that is not the host for a file, else all
  std::string output;
  int row_limit = 10;  // -1: all
  Format format = Format::Text;
};
Result<void> check(const MemoryCommand& options);
Result<void> run_memory(const MemoryCommand& options, Output& out);

// With an output: writes the execution trace in the format of its suffix. Without: checks it and
// describes it.
struct EtCommand {
  std::string file;
  OpenOptions open;
  std::string output;
  std::string trace;   // of the same run; empty: none
  int row_limit = 10;  // -1: all
  Format format = Format::Text;
};
Result<void> check(const EtCommand& options);
Result<void> run_et(const EtCommand& options, Output& out);

struct GraphsCommand {
  std::string file;
  OpenOptions open;
  int row_limit = 10;  // of each table; -1: all
  Format format = Format::Text;
};
Result<void> run_graphs(const GraphsCommand& options, Output& out);

// With an output: a file in the format of its suffix. Without: to standard output.
struct ReportCommand {
  std::string file;
  OpenOptions open;
  std::string output;
  std::string format = "text";  // text, md, json or html
};
Result<void> check(const ReportCommand& options);
Result<void> run_report(const ReportCommand& options, Output& out);

// What would be different; at least one of them.
struct WhatIfCommand {
  std::string file;
  OpenOptions open;
  std::vector<std::string> scale;   // "PATTERN=FACTOR"
  std::vector<std::string> remove;  // patterns
  bool no_sync = false;
  Format format = Format::Text;
};
Result<void> check(const WhatIfCommand& options);
Result<void> run_whatif(const WhatIfCommand& options, Output& out);

struct CriticalPathCommand {
  std::string file;
  OpenOptions open;
  int row_limit = 20;  // -1: all
  Format format = Format::Text;
};
Result<void> run_critical_path(const CriticalPathCommand& options, Output& out);

// Sends a request to a program that `sonde run` started (cli/run/run.h).
struct CtlCommand {
  int pid = 0;
  std::string request;  // start, stop, snapshot or status
  std::string file;     // for snapshot; empty: the agent chooses a name
};
Result<void> check(const CtlCommand& command);
Result<void> run_ctl(const CtlCommand& command, Output& out);

struct DoctorCommand {
  Format format = Format::Text;
};
Result<void> run_doctor(const DoctorCommand& command, Output& out);

// With neither: the torch of python3, or else the system's.
struct TorchBuildCommand {
  std::string python;  // an interpreter
  std::string prefix;  // a folder with lib/ and include/
};
Result<void> run_torch_build(const TorchBuildCommand& command, Output& out);

struct MpiBuildCommand {
  std::string compiler;  // empty: MPICXX, else mpicxx
};
Result<void> run_mpi_build(const MpiBuildCommand& command, Output& out);

// The path; for "-", that of a file with what standard input has.
Result<std::string> on_disk(const std::string& path);
// Opens any file that Sonde reads, or standard input for "-"; shows progress on the terminal if it
// takes long.
Result<Trace> open_with_progress(const std::string& path, const OpenOptions& options);
// The same for commands that analyse a trace: prints a line on stderr if it is incomplete.
Result<Trace> open_to_answer(const std::string& path, const OpenOptions& options);
// Called before a command writes, so that it never overwrites its input, which may still be
// recorded.
Result<void> not_onto_itself(const std::string& input, const std::string& output);

}  // namespace sonde::cli
