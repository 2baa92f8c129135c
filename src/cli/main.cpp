// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program `sonde`: turns arguments into calls. This is the only file that includes CLI11, which
// is slow to compile.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/changed_files.h"
#include "cli/commands.h"
#include "cli/diff.h"
#include "cli/job.h"
#include "cli/nearest.h"
#include "cli/out_of_memory.h"
#include "cli/run.h"
#include "cli/run_values.h"
#include "cli/sql.h"
#include "cli/trigger.h"
#include "cli/view.h"
#include "collect/record_options.h"
#include "sonde/version.h"

namespace sonde::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kMisused = 2;

constexpr const char* kAbout = "Sonde is a profiler for tensor programs.";
constexpr const char* kExample =
    "Example:\n  sonde run -- python3 train.py             record an unmodified program\n  sonde "
    "info run.sonde                      what is in the trace, and what was lost\n  sonde table "
    "trace.json.gz --row-limit 10  PyTorch's operator table\n  sonde report run.sonde -o "
    "report.html     what could be faster\n  sonde export run.sonde -o run.json.gz     convert it "
    "for Perfetto, chrome://tracing or HTA\n\n`sonde COMMAND --help` explains a command. Exit "
    "status: 0 success, 1 failure, 2 wrong usage.";

using Action = std::function<Result<void>(Output&)>;

struct Parser {
  CLI::App app{kAbout, "sonde"};
  InfoOptions info;
  DumpOptions dump;
  TableCommand table;
  EventsCommand events;
  JobCommand job;
  MpiBuildCommand mpi_build;
  ExportCommand exporting;
  MemoryCommand memory;
  EtCommand et;
  GraphsCommand graphs;
  ReportCommand report;
  WhatIfCommand whatif;
  CriticalPathCommand critical_path;
  ViewCommand view;
  SqlCommand sql;
  DiffCommand diff;
  TriggerCommand trigger;
  RunCommand run;
  CtlCommand ctl;
  DoctorCommand doctor;
  TorchBuildCommand torch_build;
  int exit_status = 0;  // of the program that `sonde run` ran, or what `sonde diff` found
  std::string format = "text";
  Action action;

  Parser() {
    app.set_version_flag("--version", "sonde " SONDE_VERSION, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.footer(kExample);
    add_run();
    add_ctl();
    add_torch();
    add_doctor();
    add_info();
    add_dump();
    add_table();
    add_events();
    add_job();
    add_mpi();
    add_export();
    add_memory();
    add_et();
    add_graphs();
    add_report();
    add_whatif();
    add_critical_path();
    add_view();
    add_sql();
    add_diff();
    add_trigger();
  }

  static constexpr const char* kTraceFile =
      "A trace: .sonde; .json or .json.gz from PyTorch or Chrome; .sqlite from nvprof or nsys";

  // The file that a command opens, and how.
  template <typename Command>
  static void add_input(CLI::App* command, const char* name, const char* what, Command& options) {
    command->add_option(name, options.file, what)->required()->type_name("");
    command->add_flag_callback(
        "--no-size-limit", [&options] { options.open.limit_size = false; },
        "Open the file even if it takes far more memory than traces of its size do");
    add_part(command, options.open.part);
  }

  // Which part of the trace a command looks at.
  static void add_part(CLI::App* command, TracePart& part) {
    const auto add_time = [command](const char* name, std::optional<Nanos>& value,
                                    const char* what) {
      command
          ->add_option_function<std::string>(
              name,
              [name, &value](const std::string& text) {
                const Result<std::int64_t> parsed = parse_duration(text);
                if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
                value = *parsed;
              },
              what)
          ->type_name("TIME");
    };
    add_time("--from", part.from_ns,
             "Only what ended at or after this time since the trace's start: 90s");
    add_time("--to", part.to_ns, "Only what began at or before this time since the trace's start");
    add_time("--last", part.last_ns, "Only the last part of the trace, this long: 10s");
    command
        ->add_option_function<std::string>(
            "--steps",
            [&part](const std::string& text) {
              const auto parsed = parse_steps(text);
              if (!parsed) throw CLI::ValidationError("--steps", parsed.error().message);
              part.steps = *parsed;
            },
            "Only these steps: 40 or 40..49")
        ->type_name("A..B");
    command
        ->add_option("--thread", part.threads,
                     "Only this thread, by name or number, and the work that it launched. May be "
                     "repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("THREAD");
  }

  Format chosen_format() const {
    if (format == "json") return Format::Json;
    return format == "csv" ? Format::Csv : Format::Text;
  }

  void add_format(CLI::App* command) {
    command
        ->add_option("--format", format,
                     "Output format: text (default), json or csv; the keys are stable")
        ->check(CLI::IsMember({"text", "json", "csv"}))
        ->type_name("FORMAT");
  }

  CLI::Option* add_text_or_json(CLI::App* command) {
    return command
        ->add_option("--format", format,
                     "Output format: text (default) or json; the keys are stable")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT");
  }

  static void require(const Result<void>& checked) {
    if (!checked) throw CLI::ValidationError(checked.error().message);
  }

  // Rejects options that would have no effect.
  static void only_in_text(const CLI::App* command, Format wanted) {
    if (wanted == Format::Text) return;
    for (const char* const name :
         {"--header", "--time-unit", "--max-name-width", "--max-shapes-width", "--max-src-width"})
      if (command->count(name) > 0)
        throw CLI::ValidationError(name, "only works with --format text");
  }

  // Programs want all rows; people want one page of them.
  static void limit_rows(const CLI::App* command, Format wanted, TableOptions& options) {
    if (wanted != Format::Text && command->count("--row-limit") == 0) options.row_limit = -1;
  }

  static CLI::Validator check_with(bool (*is_known)(std::string_view),
                                   const std::vector<std::string_view>& known) {
    return CLI::Validator(
        [is_known, &known](std::string& given) {
          if (is_known(given)) return std::string();
          std::string problem = "unknown value '" + given + "'; use one of:";
          for (const std::string_view name : known) problem += ' ' + std::string(name);
          return problem;
        },
        "");
  }

  void add_table_options(CLI::App* command, TableOptions& options) {
    command
        ->add_option("--sort-by", options.sort_by,
                     "Sort by this, largest first: cpu_time_total, self_cpu_time_total, "
                     "self_device_time_total, count, flops, …")
        ->check(check_with(is_sort_key, sort_keys()))
        ->type_name("KEY");
    command
        ->add_option("--row-limit", options.row_limit,
                     "Show at most N rows (default 100; all in json and csv); -1 shows all")
        ->type_name("N");
    command
        ->add_option("--columns", options.columns,
                     "Add columns: p50, p95, max, launches, device_union, flops_per_second")
        ->delimiter(',')
        ->check(check_with(is_extra_column, extra_columns()))
        ->type_name("LIST");
    command->add_option("--header", options.header, "Print this line above the table")
        ->type_name("TEXT");
    command->add_option("--time-unit", options.time_unit, "Print all times in us, ms or s")
        ->check(CLI::IsMember({"us", "ms", "s"}))
        ->type_name("UNIT");
    command->add_flag(
        "--top-level", options.top_level_events_only,
        "Show only operators that no other operator called. As in PyTorch, a table shows "
        "a row if its first call was one of these");
    const auto add_width = [command](const char* name, std::optional<int>& width,
                                     const char* what) {
      command
          ->add_option_function<int>(
              name,
              [&width](const int& given) {
                width = given < 0 ? std::nullopt : std::optional<int>(given);
              },
              what)
          ->type_name("N");
    };
    add_width("--max-name-width", options.max_name_column_width,
              "Width of names (default 55); -1 for no limit");
    add_width("--max-shapes-width", options.max_shapes_column_width,
              "Width of input shapes (default 80); -1 for no limit");
    add_width("--max-src-width", options.max_src_column_width,
              "Width of source locations (default 75); -1 for no limit");
  }

  void add_table() {
    CLI::App* command = app.add_subcommand("table", "Print PyTorch's operator table");
    add_input(command, "TRACE", kTraceFile, table);
    add_table_options(command, table.table);
    command->add_flag("--group-by-input-shape", table.group_by.group_by_input_shape,
                      "One row for each name and input shapes");
    command
        ->add_option("--group-by-stack", table.group_by.group_by_stack_n,
                     "One row for each name and its N innermost callers")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    command->add_flag("--group-by-overload", table.group_by.group_by_overload_name,
                      "One row for each name and overload");
    add_format(command);
    command->footer(
        "Example:\n  sonde table step.pt.trace.json.gz --sort-by self_device_time_total "
        "--row-limit 20");
    command->callback([this, command] {
      table.format = chosen_format();
      only_in_text(command, table.format);
      limit_rows(command, table.format, table.table);
      action = [this](Output& out) { return run_table(table, out); };
    });
  }

  void add_events() {
    CLI::App* command = app.add_subcommand("events", "List the events behind the operator table");
    add_input(command, "TRACE", kTraceFile, events);
    add_table_options(command, events.table);
    add_format(command);
    command->footer("Example:\n  sonde events step.pt.trace.json.gz --format json");
    command->callback([this, command] {
      events.format = chosen_format();
      only_in_text(command, events.format);
      limit_rows(command, events.format, events.table);
      action = [this](Output& out) { return run_events(events, out); };
    });
  }

  void add_export() {
    CLI::App* command = app.add_subcommand("export", "Convert a trace to another format");
    add_input(command, "TRACE", kTraceFile, exporting);
    command
        ->add_option("-o,--output", exporting.output,
                     "Write here. The suffix chooses the format: .json or .json.gz for Perfetto, "
                     "chrome://tracing and HTA; .pftrace for Perfetto; .stacks for flame graphs; "
                     ".svg is one; .parquet and .arrow for data frames, a folder with a file for "
                     "each table; "
                     ".sqlite; .pprof; .csv; .sonde")
        ->required()
        ->type_name("FILE");
    command
        ->add_option(
            "--metric", exporting.metric,
            "What .stacks and .svg show: self_cpu_time_total (default) or self_device_time_total")
        ->type_name("METRIC");
    command->add_flag("--each-event", exporting.each_event,
                      "Write a line of stacks for each event, as PyTorch does; else one for each "
                      "distinct stack, with its sum");
    command
        ->add_option("OTHER", exporting.others,
                     "More traces, such as other ranks, for .parquet: each gets a folder inside")
        ->type_name("");
    command->footer(
        "Examples:\n  sonde export run.sonde -o run.pt.trace.json.gz\n  sonde export rank*.sonde "
        "-o "
        "job.parquet");
    command->callback([this] {
      require(check(exporting));
      action = [this](Output& out) { return run_export(exporting, out); };
    });
  }

  void add_memory() {
    CLI::App* command =
        app.add_subcommand("memory", "Show who held memory: peak, operators, steps, leaks");
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
    add_text_or_json(command)->excludes(command->get_option("--output"));
    command->footer(
        "Record with `sonde run --memory --shapes` to see categories; add --stack to see "
        "stacks.\nExample:\n  sonde memory train.sonde -o memory.html");
    command->callback([this, command] {
      require(check(memory));
      memory.format = chosen_format();
      if (memory.format == Format::Json && command->count("--row-limit") == 0)
        memory.row_limit = -1;
      action = [this](Output& out) { return run_memory(memory, out); };
    });
  }

  void add_et() {
    CLI::App* command = app.add_subcommand(
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
    add_text_or_json(command)->excludes(command->get_option("--output"));
    command->footer(
        "`sonde run --et` records an execution trace. The exit status is 1 if a check of ids, "
        "parents, tensors or operators fails.\nExample:\n  sonde et step.et.json.gz --trace "
        "step.sonde -o step.chakra");
    command->callback([this, command] {
      require(check(et));
      et.format = chosen_format();
      if (et.format == Format::Json && command->count("--row-limit") == 0) et.row_limit = -1;
      action = [this](Output& out) { return run_et(et, out); };
    });
  }

  void add_graphs() {
    CLI::App* command = app.add_subcommand(
        "graphs", "Show how much ran in captured graphs, and what ran outside them");
    add_input(command, "TRACE", kTraceFile, graphs);
    command
        ->add_option(
            "--row-limit", graphs.row_limit,
            "Show at most N rows of each table (default 10; all in json and csv); -1 shows all")
        ->type_name("N");
    add_format(command);
    command->footer(
        "Counts graphs of torch.compile, TorchScript and CUDA, and calls marked "
        "TORCHDYNAMO.\nExample:\n  sonde graphs step.pt.trace.json.gz");
    command->callback([this, command] {
      graphs.format = chosen_format();
      if (graphs.format != Format::Text && command->count("--row-limit") == 0)
        graphs.row_limit = -1;
      action = [this](Output& out) { return run_graphs(graphs, out); };
    });
  }

  void add_report() {
    CLI::App* command =
        app.add_subcommand("report", "List what could be faster, ranked by the time it could save");
    add_input(command, "TRACE", kTraceFile, report);
    command
        ->add_option(
            "-o,--output", report.output,
            "Write the report here. The suffix chooses the format: .html, .md, .json or .txt")
        ->type_name("FILE");
    command
        ->add_option(
            "--format", report.format,
            "Output format without -o: text (default), md, html or json; the keys are stable")
        ->check(CLI::IsMember({"text", "md", "json", "html"}))
        ->type_name("FORMAT")
        ->excludes(command->get_option("--output"));
    command->footer(
        "To get most findings, record with `sonde run --shapes --memory --gpu`.\nExample:\n  sonde "
        "report train.sonde -o report.html");
    command->callback([this] {
      require(check(report));
      action = [this](Output& out) { return run_report(report, out); };
    });
  }

  void add_whatif() {
    CLI::App* command = app.add_subcommand(
        "whatif", "Simulate how long it would have taken if something were different");
    add_input(command, "TRACE", kTraceFile, whatif);
    command
        ->add_option("--scale", whatif.scale,
                     "Spans with such names take this much of their time: 'aten::conv*=0.5'. An "
                     "operator includes the device work that it launched. May be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("PATTERN=FACTOR");
    command
        ->add_option("--remove", whatif.remove,
                     "Spans with such names take no time and do not wait. May be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("PATTERN");
    command->add_flag("--no-sync", whatif.no_sync, "No call waits for a device");
    add_text_or_json(command);
    command->footer(
        "Replays the trace with what waited for what; with nothing changed that gives the recorded "
        "time. What is left takes as long as before.\nExample:\n  sonde whatif step.json.gz "
        "--scale 'aten::convolution*=0.5' --remove aten::copy_ --no-sync");
    command->callback([this] {
      require(check(whatif));
      whatif.format = chosen_format();
      action = [this](Output& out) { return run_whatif(whatif, out); };
    });
  }

  void add_critical_path() {
    CLI::App* command = app.add_subcommand(
        "critical-path", "Show what the program's time consists of, and what comes next");
    add_input(command, "TRACE", kTraceFile, critical_path);
    command
        ->add_option("--row-limit", critical_path.row_limit,
                     "Show at most N rows (default 20; all in json); -1 shows all")
        ->type_name("N");
    add_text_or_json(command);
    command->footer(
        "Each part of the path waited for the part before it. `without it` is the length if that "
        "took no time.\nExample:\n  sonde critical-path step.pt.trace.json.gz --row-limit 10");
    command->callback([this] {
      critical_path.format = chosen_format();
      action = [this](Output& out) { return run_critical_path(critical_path, out); };
    });
  }

  void add_view() {
    CLI::App* command = app.add_subcommand("view", "Show the timeline and all views in a browser");
    add_input(command, "TRACE", kTraceFile, view);
    command
        ->add_option("RANKS", view.more,
                     "Traces of the other ranks of the same job: the page shows who held the "
                     "others up, and switches between their timelines")
        ->type_name("");
    command
        ->add_option("--against", view.against,
                     "Runs of the old version: the page shows what changed, as `sonde diff` does")
        ->type_name("FILE")
        ->take_all()
        ->expected(1);
    CLI::Option* output =
        command
            ->add_option("-o,--output", view.output,
                         "Write the page with its data to this .html file instead of serving it")
            ->type_name("FILE");
    command
        ->add_option("--at", view.at,
                     "Show this first: the text that \"Copy link\" in the page gives")
        ->type_name("STATE");
    command->add_option("--port", view.port, "Listen on this port of 127.0.0.1 (default: any)")
        ->check(CLI::Range(0, 65535))
        ->type_name("N")
        ->excludes(output);
    command->add_flag_callback(
        "--no-browser", [this] { view.browser = false; },
        "Print the address only, do not open a browser");
    command
        ->add_option("--most-spans", view.most_spans,
                     "With -o: write at most N spans (default 1000000); of a larger trace, a "
                     "stretch of time")
        ->type_name("N")
        ->needs(output);
    command->footer(
        "The page is for this machine only: it listens on 127.0.0.1, and the address holds a "
        "secret "
        "token.\nExample:\n  sonde view train.sonde\n  sonde view train.sonde -o train.html\n  "
        "sonde "
        "view rank*.json.gz\n  sonde view new.sonde --against old.sonde");
    command->callback([this] {
      require(check(view));
      action = [this](Output& out) { return run_view(view, out); };
    });
  }

  // `--after 5s`: `parse` converts the text for `value`.
  template <typename T>
  static CLI::Option* add_parsed(CLI::App* command, const char* name, const char* type,
                                 const char* what, T& value,
                                 Result<T> (*parse)(const std::string&)) {
    return command
        ->add_option_function<std::string>(
            name,
            [&value, name, parse](const std::string& text) {
              Result<T> parsed = parse(text);
              if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
              value = *std::move(parsed);
            },
            what)
        ->type_name(type);
  }

  void add_run_windows(CLI::App* command, RunOptions& options) {
    CLI::Option* after =
        add_parsed(command, "--after", "TIME",
                   "Start recording this long after the program started: 500ms, 10s, 2m",
                   options.after_ns, parse_duration);
    add_parsed(command, "--for", "TIME", "Stop recording this long after it began", options.for_ns,
               parse_duration);
    CLI::Option* paused = command->add_flag("--paused", options.paused,
                                            "Wait for `sonde ctl PID start` before recording");
    CLI::Option* start = add_parsed(command, "--signal-start", "SIG",
                                    "Wait for this signal to the program before recording: USR1, …",
                                    options.signal_start, parse_signal);
    add_parsed(command, "--signal-stop", "SIG",
               "Stop recording at this signal; if it is also the start signal, it starts and stops "
               "alternately",
               options.signal_stop, parse_signal);
    after->excludes(paused)->excludes(start);
    CLI::Option* from_step =
        command
            ->add_option("--from-step", options.from_step,
                         "Start recording when so many steps of the program have ended")
            ->check(CLI::PositiveNumber)
            ->type_name("N");
    from_step->excludes(after)->excludes(paused)->excludes(start);
    command->add_option("--steps", options.steps, "Stop recording after so many steps")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
  }

  void add_run() {
    CLI::App* command =
        app.add_subcommand("run", "Record an unmodified program: LibTorch, GPU, scopes");
    RunOptions& options = run.options;
    command
        ->add_option("-o,--output", options.output,
                     "Write here (default {program}-{pid}.sonde); {pid}, {program}, {rank} and "
                     "{host} are filled in")
        ->type_name("PATTERN");
    command->add_flag("--force", run.force, "Replace the file if it exists");
    for (const RecordFlag& flag : record_flags())
      command->add_flag(std::string("--") + flag.word, options.record.*flag.member, flag.help);
    command
        ->add_option_function<std::string>(
            "--gpu",
            [this](const std::string& level) {
              run.with_gpu = true;
              if (level.empty()) return;
              const Result<GpuLevel> named = gpu_level_named(level);
              if (!named) throw CLI::ValidationError("--gpu", named.error().message);
              run.options.record.gpu_level = *named;
            },
            "Record CUDA. LEVEL is linked (default): device work linked to operators; lean: device "
            "work only; full: also every runtime call. Write --gpu=LEVEL")
        ->type_name("LEVEL")
        ->expected(0, 1);
    command
        ->add_option_function<std::string>(
            "--et",
            [this](const std::string& file) {
              run.with_execution_trace = true;
              run.options.execution_trace = file;
            },
            "Also write an execution trace, by default beside the recording. Write --et=FILE, "
            ".json or .json.gz")
        ->type_name("FILE")
        ->expected(0, 1);
    command->add_flag("--as-torch-profiler", run.as_torch_profiler,
                      "In Python programs, put Sonde's profilers in place of torch's");
    command->add_flag("--opencl", run.opencl, "Record OpenCL kernels and copies");
    add_parsed(command, "--budget", "BYTES",
               "Memory for events that are not yet in the file (default 256M, at least 1M)",
               options.budget_bytes, parse_bytes);
    add_parsed(command, "--policy", "POLICY",
               "When the budget is used up: spill to the file (default), drop new events, or ring: "
               "keep only the newest",
               options.policy, policy_named);
    add_run_windows(command, options);
    command->add_flag("--follow-children,!--no-follow-children", options.follow_children,
                      "Also record the processes that the program starts (default)");
    command->add_flag("--keep-command-line", options.keep_command_line,
                      "Record the program's command line unchanged; by default, what looks like a "
                      "password, token or key is masked");
    command->add_flag("-q,--quiet", run.quiet, "Print no summary at the end");
    command->add_option("PROGRAM", run.program, "The program to run and its arguments, after `--`")
        ->type_name("");
    command->footer(
        "Exits with the program's status, or 128+N if signal N killed it, 127 if it was not found, "
        "126 if it cannot be started.\nExample:\n  sonde run --shapes -o train.sonde -- python3 "
        "train.py --epochs 1");
    command->callback([this] {
      require(check(run));
      if (run.options.signal_start != 0) run.options.paused = true;
      action = [this](Output&) -> Result<void> {
        SONDE_TRY(exit_status, run_program(run));
        return {};
      };
    });
  }

  void add_sql() {
    CLI::App* command = app.add_subcommand("sql", "Ask a trace, or several, in SQL");
    command
        ->add_option("TRACE", sql.words,
                     "Traces or folders of traces, then the query. Without a query, opens a shell, "
                     "or reads queries from standard input")
        ->required()
        ->type_name("");
    command->add_flag_callback(
        "--no-size-limit", [this] { sql.open.limit_size = false; },
        "Open files even if they take far more memory than traces of their size do");
    add_part(command, sql.open.part);
    command
        ->add_option("--format", sql.format,
                     "Output format: table (default), markdown, csv, json or parquet")
        ->check(CLI::IsMember({"table", "markdown", "csv", "json", "parquet"}))
        ->type_name("FORMAT");
    command->add_option("-o,--output", sql.output, "Write the rows here")->type_name("FILE");
    command
        ->add_option_function<std::string>(
            "--time-limit",
            [this](const std::string& text) {
              sql.time_limit_s = 0;
              if (text == "0") return;
              const Result<std::int64_t> parsed = parse_duration(text);
              if (!parsed) throw CLI::ValidationError("--time-limit", parsed.error().message);
              sql.time_limit_s = static_cast<double>(*parsed) / 1e9;
            },
            "Stop a query after this time, like 20s or 10m (default 5m); 0 lets it run")
        ->type_name("TIME");
    command->footer(
        "`sonde sql TRACE .tables` lists the tables, .schema their columns, .functions what can be "
        "called; docs/sql.md has recipes. Queries only read.\nExample:\n  sonde sql run.sonde "
        "'SELECT name, count, duration_text(total_ns) FROM operators ORDER BY total_ns DESC LIMIT "
        "10'");
    command->callback([this] {
      require(check(sql));
      action = [this](Output& out) { return run_sql(sql, out); };
    });
  }

  void add_diff() {
    CLI::App* command =
        app.add_subcommand("diff", "Compare runs of a program with runs of its changed version");
    command
        ->add_option("BASE", diff.base,
                     "Runs of the old version: traces, folders of traces, or a baseline "
                     "(.sondebase). Those of the new version follow after `--`")
        ->type_name("");
    command->add_flag_callback(
        "--no-size-limit", [this] { diff.open.limit_size = false; },
        "Open files even if they take far more memory than traces of their size do");
    add_part(command, diff.open.part);
    command
        ->add_option("--gate", diff.gates,
                     "Fail if the new version is worse: 'step<5%', 'device<2%', 'peak_memory<1%', "
                     "'launches=0'; may be given several times")
        ->type_name("GATE")
        ->take_all()
        ->expected(1);
    command
        ->add_option("--format", diff.format,
                     "Output format: text (default), markdown, json, junit or html; the keys are "
                     "stable")
        ->check(CLI::IsMember({"text", "markdown", "json", "junit", "html"}))
        ->type_name("FORMAT");
    command
        ->add_option("-o,--output", diff.output,
                     "Write the result here; a name that ends in .html is a page")
        ->type_name("FILE");
    command
        ->add_option("--record", diff.record,
                     "Write the runs of BASE as a small baseline instead of comparing them")
        ->type_name("FILE.sondebase");
    command
        ->add_option("--history", diff.history,
                     "Add the figures of the runs of BASE to this file of JSON lines, and show "
                     "since which version a figure is different")
        ->type_name("FILE.jsonl");
    command
        ->add_option("--commit", diff.commit,
                     "The version that the runs are of (default: GITHUB_SHA or CI_COMMIT_SHA)")
        ->type_name("NAME");
    command
        ->add_option("--row-limit", diff.row_limit,
                     "Show at most N rows of each explanation (default 10); -1 shows all")
        ->type_name("N");
    command->footer(
        "Exit status: 0 no gate failed, 1 a gate failed or something went wrong, 2 wrong usage, 3 "
        "the runs are too few or too unsteady to decide a gate.\nUse three runs a side at least: "
        "host times of single runs are not tested. docs/ci.md shows how to gate pull "
        "requests.\nExample:\n  sonde diff main/*.sonde -- change/*.sonde --gate 'step<5%' --gate "
        "'launches=0'");
    command->callback([this] {
      const bool compares = diff.record.empty() && diff.history.empty();
      if (diff.now.empty() && diff.base.size() == 2 && compares) {
        diff.now = {diff.base.back()};
        diff.base.pop_back();
      }
      require(check(diff));
      action = [this](Output& out) -> Result<void> {
        SONDE_TRY(exit_status, run_diff(diff, out));
        return {};
      };
    });
  }

  void add_trigger() {
    CLI::App* command = app.add_subcommand(
        "trigger", "Have running PyTorch programs record themselves for a moment");
    command->add_option("--pid", trigger.pids, "Only this process; may be given several times")
        ->check(CLI::Range(1, std::numeric_limits<int>::max()))
        ->type_name("PID")
        ->take_all()
        ->expected(1);
    command->add_option("--job", trigger.job, "Only processes of this Slurm job")
        ->check(CLI::PositiveNumber)
        ->type_name("JOB");
    CLI::Option* duration =
        command->add_option("--for", trigger.duration, "How long to record (default 500ms)");
    duration->type_name("TIME");
    command->add_option("--steps", trigger.steps, "Record so many steps instead")
        ->check(CLI::PositiveNumber)
        ->type_name("N")
        ->excludes(duration);
    command
        ->add_option("-o,--output", trigger.folder, "Write the traces into this folder (default .)")
        ->type_name("FOLDER");
    command->add_option("--wait", trigger.wait, "How long to wait for programs (default 15s)")
        ->type_name("TIME");
    command->add_flag("--shapes", trigger.shapes, "Record the inputs of operators");
    command->add_flag("--memory", trigger.memory, "Record allocations");
    command->add_flag("--stack", trigger.stack, "Record stacks");
    command->add_flag("--flops", trigger.flops, "Record FLOPs");
    command->add_flag("--modules", trigger.modules, "Record modules");
    command->footer(
        "Programs must have been started with KINETO_USE_DAEMON=1 in their environment; they ask "
        "every five seconds. Each writes trace_PID.json. If a dynolog daemon runs on this machine, "
        "it "
        "is asked to trigger instead.\nExample:\n  sonde trigger --for 500ms --shapes -o traces");
    command->callback([this] {
      require(check(trigger));
      action = [this](Output& out) { return run_trigger(trigger, out); };
    });
  }

  void add_ctl() {
    CLI::App* command = app.add_subcommand("ctl", "Start and stop recording under `sonde run`");
    command->add_option("PID", ctl.pid, "The recorded process")
        ->required()
        ->check(CLI::Range(1, std::numeric_limits<int>::max()))
        ->type_name("");
    command
        ->add_option("REQUEST", ctl.request,
                     "start, stop, status, or snapshot: write what the ring holds (--policy ring)")
        ->required()
        ->check(CLI::IsMember({"start", "stop", "status", "snapshot"}))
        ->type_name("");
    command->add_option("FILE", ctl.file, "Write the snapshot here")->type_name("");
    command->footer("Example:\n  sonde ctl 4711 stop");
    command->callback([this] {
      require(check(ctl));
      action = [this](Output& out) { return run_ctl(ctl, out); };
    });
  }

  void add_job() {
    CLI::App* command = app.add_subcommand(
        "job", "Put all ranks of a job on one clock and say which held the others up, and why");
    command
        ->add_option("FILES", job.inputs,
                     "The ranks' traces: a folder, files, or patterns such as 'run/rank*.json.gz'")
        ->required()
        ->type_name("");
    command->add_flag_callback(
        "--no-size-limit", [this] { job.open.limit_size = false; },
        "Open files even if they take far more memory than traces of their size do");
    command
        ->add_option(
            "-o,--output", job.output,
            "Write the answer here. The suffix chooses the format: .html, .md, .json or .txt")
        ->type_name("FILE");
    command
        ->add_option(
            "--format", job.format,
            "Output format without -o: text (default), md, html or json; the keys are stable")
        ->check(CLI::IsMember({"text", "md", "json", "html"}))
        ->type_name("FORMAT")
        ->excludes(command->get_option("--output"));
    command->add_flag("--partial", job.is_partial,
                      "Answer from the files that can be read, and say which cannot");
    command
        ->add_option("--hosts", job.hosts,
                     "The host of each rank, in order; ranks of one host share a clock")
        ->delimiter(',')
        ->type_name("LIST");
    command
        ->add_option("--summaries", job.summaries,
                     "Keep a summary of each file in this folder, and use those that are there")
        ->type_name("FOLDER");
    command
        ->add_option("--share", job.share,
                     "Only make the summaries of share I of N (0 to N-1), as one of N processes")
        ->type_name("I/N");
    command
        ->add_option("--timeout", job.timeout_s,
                     "Under MPI: give up after S seconds without progress (default 300)")
        ->type_name("S");
    command->footer(
        "Ranks may be missing, their clocks may differ, and recordings may begin at different "
        "times.\nExample:\n  sonde job run/\n  sonde job 'run/rank*.json.gz' --format json");
    command->callback([this] {
      require(check(job));
      action = [this](Output& out) { return run_job(job, out); };
    });
  }

  void add_mpi() {
    CLI::App* group = app.add_subcommand(
        "mpi", "Build Sonde's part for MPI, so that many processes can share `sonde job`");
    group->require_subcommand(1);
    CLI::App* command =
        group->add_subcommand("build", "Compile it for the MPI of this machine; needed once");
    command
        ->add_option("--mpicxx", mpi_build.compiler,
                     "The compiler of that MPI (default: MPICXX, or else mpicxx)")
        ->type_name("PROGRAM");
    command->footer(
        "Stores it below XDG_CACHE_HOME (~/.cache), where `mpirun sonde job` finds it.\nExample:\n "
        " "
        "sonde mpi build\n  mpirun -n 16 sonde job run/");
    group->footer(command->get_footer());
    command->callback(
        [this] { action = [this](Output& out) { return run_mpi_build(mpi_build, out); }; });
  }

  void add_torch() {
    CLI::App* group =
        app.add_subcommand("torch", "Build an adapter, so that `sonde run` can record a torch");
    group->require_subcommand(1);
    CLI::App* command = group->add_subcommand(
        "build",
        "Compile the adapter for a torch other than the one Sonde was built with; needed "
        "once");
    CLI::Option* python =
        command->add_option("--python", torch_build.python,
                            "Use the torch that this interpreter imports (default python3)");
    python->type_name("PROGRAM");
    command
        ->add_option("--prefix", torch_build.prefix,
                     "Use the torch in this folder, which has lib/ and include/")
        ->type_name("FOLDER")
        ->excludes(python);
    command->footer(
        "Without options, uses the torch of python3, or else the system's. Compiles with CXX or "
        "c++, which takes about half a minute.\nStores the adapter below XDG_CACHE_HOME "
        "(~/.cache), where `sonde run` finds it.\nExample:\n  sonde torch build --python "
        "./venv/bin/python3");
    group->footer(command->get_footer());
    command->callback(
        [this] { action = [this](Output& out) { return run_torch_build(torch_build, out); }; });
  }

  void add_doctor() {
    CLI::App* command = app.add_subcommand(
        "doctor", "Check what is installed on this machine, and what is missing");
    add_text_or_json(command);
    command->footer("Example:\n  sonde doctor");
    command->callback([this] {
      doctor.format = chosen_format();
      action = [this](Output& out) { return run_doctor(doctor, out); };
    });
  }

  bool has_command(const std::string& name) {
    return !app.get_subcommands(
                   [&](const CLI::App* command) { return command->get_name() == name; })
                .empty();
  }

  // What was meant in place of a command that does not exist, or of an option of `command`.
  std::string meant_command(const std::string& name) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    return nearest(name, names);
  }
  std::string meant_option(const std::string& name, const std::string& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_subcommand(command)->get_options())
      for (const std::string& text : option->get_lnames()) names.push_back("--" + text);
    return nearest(name.substr(0, name.find('=')), names);
  }

  void add_info() {
    CLI::App* command = app.add_subcommand(
        "info", "Show what is in a trace, what was lost, and what recording cost");
    add_input(command, "FILE", kTraceFile, info);
    add_text_or_json(command);
    command->add_flag("--check", info.check,
                      "Decode all events, to find damage that only they show");
    command->footer("Example:\n  sonde info run.sonde --format json | python3 -m json.tool");
    command->callback([this] {
      info.json = format == "json";
      action = [this](Output& out) { return run_info(info, out); };
    });
  }

  void add_dump() {
    CLI::App* command = app.add_subcommand("dump", "Print everything in a trace as text");
    add_input(command, "FILE", kTraceFile, dump);
    command->footer("Example:\n  sonde dump run.sonde | less");
    command->callback([this] { action = [this](Output& out) { return run_dump(dump, out); }; });
  }
};

int misused(const std::string& message, const std::string& command) {
  const std::string help = command.empty() ? "sonde --help" : "sonde " + command + " --help";
  say(message + "\nTry `" + help + "`.");
  return kMisused;
}

std::string did_you_mean(const std::string& word) {
  return word.empty() ? "" : "; did you mean '" + word + "'?";
}

// The first word that looks like an option and is none of the command's.
std::string unknown_option(const std::vector<std::string>& unexpected) {
  const auto found = std::find_if(unexpected.begin(), unexpected.end(),
                                  [](const std::string& word) { return word.starts_with("-"); });
  return found == unexpected.end() ? "" : *found;
}

// `sonde run` leaves everything alone after `--`, or after its first word that is not an option.
// `words` keeps what comes before.
void split_program(std::vector<char*>& words, std::vector<std::string>& program) {
  constexpr std::size_t kFirst = 2;  // after "sonde run"
  std::size_t at = kFirst;
  if (words.size() > kFirst && words[kFirst][0] == '-') {
    while (at < words.size() && std::string_view(words[at]) != "--") ++at;
  }
  if (at == words.size()) return;
  const bool marked = std::string_view(words[at]) == "--";
  program.assign(words.begin() + static_cast<std::ptrdiff_t>(at + (marked ? 1 : 0)), words.end());
  words.resize(at);
}

// `sonde diff BASE... -- NEW... [OPTIONS]`: the new runs end at the first option. Two traces need
// no `--`.
void split_sides(std::vector<char*>& words, DiffCommand& diff) {
  const auto is = [](std::string_view wanted) {
    return [wanted](const char* word) { return word == wanted; };
  };
  const auto mark = std::find_if(words.begin(), words.end(), is("--"));
  if (mark == words.end()) return;
  const auto end =
      std::find_if(mark + 1, words.end(), [](const char* word) { return word[0] == '-'; });
  diff.now.assign(mark + 1, end);
  words.erase(mark, end);
}

int run(const Action& action) {
  Output out(STDOUT_FILENO, "standard output");
  const Result<void> done = action(out);
  const Result<void> written = out.finish();
  if (out.reader_left()) return kFailed;  // the reader knows why
  for (const Result<void>* result : {&done, &written}) {
    if (!*result) {
      say(result->error().message);
      return kFailed;
    }
  }
  return 0;
}

int main_with(int argc, char** argv) {
  Parser parser;
  const std::string first = argc > 1 ? argv[1] : "";
  const bool is_command = parser.has_command(first);
  if (first.empty()) return misused("no command given", "");
  if (first.front() != '-' && !is_command)
    return misused("no command '" + first + "'" + did_you_mean(parser.meant_command(first)), "");

  std::vector<char*> words(argv, argv + argc);
  if (first == "run") split_program(words, parser.run.program);
  if (first == "diff") split_sides(words, parser.diff);
  try {
    parser.app.parse(static_cast<int>(words.size()), words.data());
    if (first == "run" && (parser.run.program.empty() || parser.run.program.front().empty()))
      return misused("no program given: sonde run [OPTIONS] -- PROGRAM [ARGUMENTS...]", first);
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    parser.app.exit(asked, text, text);
    return run([&](Output& out) -> Result<void> {
      out.write(text.str());
      return {};
    });
  } catch (const CLI::ExtrasError& wrong) {
    const std::string option = is_command ? unknown_option(parser.app.remaining(true)) : "";
    if (option.empty()) return misused(wrong.what(), is_command ? first : "");
    return misused("no option '" + option + "'" + did_you_mean(parser.meant_option(option, first)),
                   first);
  } catch (const CLI::ParseError& wrong) {
    return misused(wrong.what(), is_command ? first : "");
  }
  const int failed = run(parser.action);
  return failed != 0 ? failed : parser.exit_status;
}

}  // namespace
}  // namespace sonde::cli

int main(int argc, char** argv) {
  sonde::cli::end_if_files_change();
  sonde::cli::end_if_memory_runs_out();
  try {
    return sonde::cli::main_with(argc, argv);
  } catch (const std::bad_alloc&) {
    sonde::cli::say_out_of_memory();
    return sonde::cli::kFailed;
  } catch (const std::exception& error) {  // a mistake in the setup of the parser
    sonde::cli::say(error.what());
    return sonde::cli::kFailed;
  }
}
