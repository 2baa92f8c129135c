// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/options/common.h"
#include "cli/run/run.h"
#include "cli/run/values.h"
#include "collect/record_options.h"

namespace sonde::cli {
namespace {

void add_run_windows(CLI::App* command, RunOptions& options) {
  CLI::Option* after =
      add_parsed(command, "--after", "TIME",
                 "Start recording this long after the program started: 500ms, 10s, 2m",
                 options.after_ns, parse_duration);
  CLI::Option* lasts =
      add_parsed(command, "--for", "TIME", "Stop recording this long after it began",
                 options.for_ns, parse_duration);
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
  CLI::Option* from_step = command
                               ->add_option("--from-step", options.from_step,
                                            "Start recording once the program has finished N steps")
                               ->check(CLI::PositiveNumber)
                               ->type_name("N");
  from_step->excludes(after)->excludes(paused)->excludes(start);
  CLI::Option* captures =
      command
          ->add_option_function<std::string>(
              "--capture-range", [&options](const std::string&) { options.captures = true; },
              "Record between the program's calls of cudaProfilerStart and cudaProfilerStop: "
              "cuda-profiler")
          ->check(CLI::IsMember({"cuda-profiler"}))
          ->type_name("RANGE")
          ->excludes(after)
          ->excludes(paused)
          ->excludes(from_step);
  CLI::Option* steps = command->add_option("--steps", options.steps, "Stop recording after N steps")
                           ->check(CLI::PositiveNumber)
                           ->type_name("N");
  command
      ->add_flag(
          "--on-demand", options.on_demand,
          "Record only when `sonde trigger` or a dynolog daemon asks for it, as JSON to where "
          "they say; with --ring, besides the ring")
      ->excludes(after)
      ->excludes(lasts)
      ->excludes(from_step)
      ->excludes(steps)
      ->excludes(captures);
}

void add_run_ring(CLI::App* command, RunCommand& run, CLI::Option* policy) {
  CLI::Option* ring =
      add_parsed(command, "--ring", "TIME",
                 "Keep only the last seconds, in memory, and write them when the program ends or "
                 "when --dump-on says so: 30s. The memory is that of --budget",
                 run.options.dump.ring_ns, parse_duration);
  ring->excludes(policy);
  CLI::Option* dump_on = add_parsed(
      command, "--dump-on", "REASONS",
      "Write the ring (default 30s) only if one of these happens: slow-step:3x, hang:60s, "
      "signal:USR2, crash, exit!=0; several with commas. The files are FILE.001.sonde and so on",
      run.dump_on, parse_dump_on);
  dump_on->excludes(policy);
  command->add_option("--dumps", run.dumps, "Write at most N files per process (default 10)")
      ->check(CLI::Range(1, 999))
      ->type_name("N")
      ->needs(dump_on);
}

// The last one is kept for the end of the program, if that can be a reason.
void complete_ring(RunCommand& run) {
  constexpr std::int64_t kUsualRing = 30'000'000'000;
  DumpRules& dump = run.options.dump;
  if (!run.dump_on.any() && dump.ring_ns == 0) return;
  const std::int64_t ring_ns = dump.ring_ns > 0 ? dump.ring_ns : kUsualRing;
  dump = run.dump_on.rules;
  dump.ring_ns = ring_ns;
  dump.most = run.dumps - (run.dump_on.at_end() ? 1 : 0);
  run.options.policy = BufferPolicy::Ring;
}

void add_run(Parser& parser) {
  auto& run = parser.keep<RunCommand>();
  CLI::App* command =
      parser.app.add_subcommand("run", "Record an unmodified program: LibTorch, GPU, scopes");
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
          [&run](const std::string& level) {
            run.with_gpu = true;
            if (level.empty()) return;
            const Result<GpuLevel> named = gpu_level_named(level);
            if (!named) throw CLI::ValidationError("--gpu", named.error().message);
            run.options.record.gpu_level = *named;
          },
          "Record CUDA. LEVEL is linked (default): device work linked to operators; lean: device "
          "work only; full: also every runtime call")
      ->type_name("LEVEL")
      ->expected(0, 1);
  command
      ->add_option_function<std::string>(
          "--et",
          [&run](const std::string& file) {
            run.with_execution_trace = true;
            run.options.execution_trace = file;
          },
          "Also write an execution trace, by default beside the recording: "
          ".json or .json.gz")
      ->type_name("FILE")
      ->expected(0, 1);
  command->add_flag("--as-torch-profiler", run.as_torch_profiler,
                    "In Python programs, replace torch's profilers with Sonde's");
  command->add_flag(
      "--calls", run.calls,
      "In Python programs with torch, record every call of a function, which slows them "
      "down");
  command->add_flag("--opencl", run.opencl, "Record OpenCL kernels and copies");
  add_parsed(command, "--budget", "BYTES",
             "Memory for events that are not yet in the file (default 256M, at least 1M)",
             options.budget_bytes, parse_bytes);
  CLI::Option* policy = add_parsed(
      command, "--policy", "POLICY",
      "When the budget is used up: spill to the file (default), drop new events, or ring: "
      "keep only the newest",
      options.policy, policy_named);
  add_run_ring(command, run, policy);
  add_run_windows(command, options);
  command->add_flag("--follow-children,!--no-follow-children", options.follow_children,
                    "Also record the processes that the program starts (default)");
  command->add_flag("--keep-command-line", options.keep_command_line,
                    "Record the program's command line unchanged. By default, anything that looks "
                    "like a password, token or key is masked");
  command->add_flag("-q,--quiet", run.quiet, "Print no summary at the end");
  command->add_option("PROGRAM", run.program, "The program to run and its arguments, after `--`")
      ->type_name("");
  command->footer(
      "Exits with the program's status, or 128+N if signal N killed it, 127 if it was not found, "
      "126 if it cannot be started.\nExamples:\n  sonde run --shapes -o train.sonde -- python3 "
      "train.py --epochs 1\n  sonde run --ring 30s --dump-on slow-step:3x,crash,exit!=0 -- python3 "
      "train.py");
  command->callback([&parser, &run] {
    run.program = parser.after_mark;
    if (run.program.empty() || run.program.front().empty())
      throw CLI::ValidationError("no program given: sonde run [OPTIONS] -- PROGRAM [ARGUMENTS...]");
    complete_ring(run);
    require(check(run));
    const bool has_ring = run.options.policy == BufferPolicy::Ring;
    if (run.options.signal_start != 0 || (run.options.on_demand && !has_ring))
      run.options.paused = true;
    parser.action = [&parser, &run](Output&) -> Result<void> {
      SONDE_TRY(parser.exit_status, run_program(run));
      return {};
    };
  });
}

void add_ctl(Parser& parser) {
  auto& ctl = parser.keep<CtlCommand>();
  CLI::App* command =
      parser.app.add_subcommand("ctl", "Start and stop recording under `sonde run`");
  command->add_option("PID", ctl.pid, "The recorded process")
      ->required()
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->type_name("");
  command
      ->add_option("REQUEST", ctl.request,
                   "start, stop, status, or snapshot: write what the ring holds (--ring)")
      ->required()
      ->check(CLI::IsMember({"start", "stop", "status", "snapshot"}))
      ->type_name("");
  command->add_option("FILE", ctl.file, "Write the snapshot here")->type_name("");
  command->footer("Example:\n  sonde ctl 4711 stop");
  command->callback([&parser, &ctl] {
    require(check(ctl));
    parser.action = [&ctl](Output& out) { return run_ctl(ctl, out); };
  });
}

}  // namespace

void add_recording(Parser& parser) {
  add_run(parser);
  add_ctl(parser);
}

std::vector<std::string> split_program(std::vector<char*>& words) {
  constexpr std::size_t kFirst = 2;  // after "sonde run"
  std::size_t at = kFirst;
  if (words.size() > kFirst && words[kFirst][0] == '-') {
    while (at < words.size() && std::string_view(words[at]) != "--") ++at;
  }
  if (at == words.size()) return {};
  const bool marked = std::string_view(words[at]) == "--";
  std::vector<std::string> program(
      words.begin() + static_cast<std::ptrdiff_t>(at + (marked ? 1 : 0)), words.end());
  words.resize(at);
  return program;
}

}  // namespace sonde::cli
