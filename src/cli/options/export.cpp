// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include "cli/commands.h"
#include "cli/options/common.h"

namespace sonde::cli {

void add_export(Parser& parser) {
  auto& exporting = parser.keep<ExportCommand>();
  CLI::App* command = parser.app.add_subcommand("export", "Convert a trace to another format");
  add_input(command, "TRACE", kTraceFile, exporting);
  command
      ->add_option("-o,--output", exporting.output,
                   "Write here. The suffix chooses the format: .json or .json.gz for Perfetto, "
                   "chrome://tracing and HTA; .pftrace for Perfetto; .stacks for flame graph "
                   "tools; .svg, a flame graph; .parquet or .arrow, a folder with a file for each "
                   "table; .sqlite; .pprof; .csv; .sonde")
      ->required()
      ->type_name("FILE");
  command
      ->add_option(
          "--metric", exporting.metric,
          "What .stacks and .svg show: self_cpu_time_total (default) or self_device_time_total")
      ->type_name("METRIC");
  command->add_flag("--each-event", exporting.each_event,
                    "In .stacks, write a line for each event, as PyTorch does, instead of one for "
                    "each distinct stack with its sum");
  command
      ->add_option("OTHER", exporting.others,
                   "More traces, such as other ranks, for .parquet: each gets a folder inside")
      ->type_name("");
  command->footer(
      "Examples:\n  sonde export run.sonde -o run.pt.trace.json.gz\n  sonde export rank*.sonde "
      "-o job.parquet");
  command->callback([&parser, &exporting] {
    require(check(exporting));
    parser.action = [&exporting](Output& out) { return run_export(exporting, out); };
  });
}

}  // namespace sonde::cli
