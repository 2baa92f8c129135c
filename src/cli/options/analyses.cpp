// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <string>

#include "cli/commands.h"
#include "cli/options/common.h"

namespace sonde::cli {
namespace {

void add_memory(Parser& parser) {
  auto& memory = parser.keep<MemoryCommand>();
  CLI::App* command =
      parser.app.add_subcommand("memory", "Show who held memory: peak, operators, steps, leaks");
  add_input(command, "TRACE",
            "A trace, or a snapshot of PyTorch's CUDA allocator: .pickle or .pickle.gz", memory);
  command
      ->add_option("-o,--output", memory.output,
                   "Write the timeline here. The suffix chooses the format: .html for a browser, "
                   ".svg for a document; .json, .json.gz and .raw.json.gz as PyTorch writes them")
      ->type_name("FILE");
  command->add_option("--device", memory.device, "The device to show: cpu, cuda:0, …")
      ->type_name("DEVICE");
  command
      ->add_option("--row-limit", memory.row_limit,
                   "Show at most N rows of each table (default 10; all in json); -1 shows all")
      ->type_name("N");
  add_text_or_json(command, memory.format)->excludes(command->get_option("--output"));
  command->footer(
      "Record with `sonde run --memory --shapes` to see categories; add --stack to see "
      "stacks.\nExample:\n  sonde memory train.sonde -o memory.html");
  command->callback([&parser, &memory, command] {
    require(check(memory));
    if (memory.format == Format::Json && command->count("--row-limit") == 0) memory.row_limit = -1;
    parser.action = [&memory](Output& out) { return run_memory(memory, out); };
  });
}

void add_et(Parser& parser) {
  auto& et = parser.keep<EtCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "et", "Check and convert execution traces: what was computed, from which tensors");
  add_input(command, "FILE", "An execution trace, .json or .json.gz, or a trace to make one from",
            et);
  command
      ->add_option("-o,--output", et.output,
                   "Write it here: .json or .json.gz in PyTorch's format, .et or .chakra in "
                   "Chakra's protobuf format")
      ->type_name("FILE");
  command
      ->add_option("--trace", et.trace,
                   "A trace of the same run: check that both have the same operators, and take "
                   "the times of Chakra's nodes from it")
      ->type_name("TRACE");
  command
      ->add_option("--row-limit", et.row_limit,
                   "List at most N operators (default 10; all in json); -1 lists all")
      ->type_name("N");
  add_text_or_json(command, et.format)->excludes(command->get_option("--output"));
  command->footer(
      "`sonde run --et` records an execution trace. The exit status is 1 if a check of ids, "
      "parents, tensors or operators fails.\nExample:\n  sonde et step.et.json.gz --trace "
      "step.sonde -o step.chakra");
  command->callback([&parser, &et, command] {
    require(check(et));
    if (et.format == Format::Json && command->count("--row-limit") == 0) et.row_limit = -1;
    parser.action = [&et](Output& out) { return run_et(et, out); };
  });
}

void add_graphs(Parser& parser) {
  auto& graphs = parser.keep<GraphsCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "graphs", "Show how much ran in captured graphs, and what ran outside them");
  add_input(command, "TRACE", kTraceFile, graphs);
  command
      ->add_option(
          "--row-limit", graphs.row_limit,
          "Show at most N rows of each table (default 10; all in json and csv); -1 shows all")
      ->type_name("N");
  add_format(command, graphs.format);
  command->footer(
      "Counts graphs of torch.compile, TorchScript and CUDA, and calls marked "
      "TORCHDYNAMO.\nExample:\n  sonde graphs step.pt.trace.json.gz");
  command->callback([&parser, &graphs, command] {
    if (graphs.format != Format::Text && command->count("--row-limit") == 0) graphs.row_limit = -1;
    parser.action = [&graphs](Output& out) { return run_graphs(graphs, out); };
  });
}

void add_report(Parser& parser) {
  auto& report = parser.keep<ReportCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "report", "List what could be faster, ranked by the time it could save");
  add_input(command, "TRACE", kTraceFile, report);
  command
      ->add_option(
          "-o,--output", report.output,
          "Write the report here. The suffix chooses the format: .html, .md, .json or .txt")
      ->type_name("FILE");
  add_page_format(command, report.format);
  command->footer(
      "To get most findings, record with `sonde run --shapes --memory --gpu`.\nExample:\n  sonde "
      "report train.sonde -o report.html");
  command->callback([&parser, &report] {
    require(check(report));
    parser.action = [&report](Output& out) { return run_report(report, out); };
  });
}

void add_whatif(Parser& parser) {
  auto& whatif = parser.keep<WhatIfCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "whatif", "Simulate how long the program would take if something were different");
  add_input(command, "TRACE", kTraceFile, whatif);
  add_repeatable(command, "--scale", "PATTERN=FACTOR",
                 "Multiply the time of spans with matching names: 'aten::conv*=0.5'. This includes "
                 "the device work that an operator launched. May be repeated",
                 whatif.scale);
  add_repeatable(
      command, "--remove", "PATTERN",
      "Assume that spans with matching names take no time and do not wait. May be repeated",
      whatif.remove);
  command->add_flag("--no-sync", whatif.no_sync, "Assume that no call waits for a device");
  add_text_or_json(command, whatif.format);
  command->footer(
      "Replays the trace and keeps what waits for what. Without a change, the replay takes the "
      "recorded time; whatever you do not change takes as long as recorded.\nExample:\n  sonde "
      "whatif step.json.gz "
      "--scale 'aten::convolution*=0.5' --remove aten::copy_ --no-sync");
  command->callback([&parser, &whatif] {
    require(check(whatif));
    parser.action = [&whatif](Output& out) { return run_whatif(whatif, out); };
  });
}

void add_critical_path(Parser& parser) {
  auto& critical_path = parser.keep<CriticalPathCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "critical-path", "Show what the program's time consists of, and what limits it next");
  add_input(command, "TRACE", kTraceFile, critical_path);
  command
      ->add_option("--row-limit", critical_path.row_limit,
                   "Show at most N rows (default 20; all in json); -1 shows all")
      ->type_name("N");
  add_text_or_json(command, critical_path.format);
  command->footer(
      "Each part of the path waited for the part before it. `without it` is the length of the path "
      "if that part took no time.\nExample:\n  sonde critical-path step.pt.trace.json.gz "
      "--row-limit 10");
  command->callback([&parser, &critical_path] {
    parser.action = [&critical_path](Output& out) { return run_critical_path(critical_path, out); };
  });
}

}  // namespace

void add_analyses(Parser& parser) {
  add_memory(parser);
  add_et(parser);
  add_graphs(parser);
  add_report(parser);
  add_whatif(parser);
  add_critical_path(parser);
}

}  // namespace sonde::cli
