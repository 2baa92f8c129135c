// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <limits>

#include "cli/options/common.h"
#include "cli/run/trigger.h"

namespace sonde::cli {

void add_trigger(Parser& parser) {
  auto& trigger = parser.keep<TriggerCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "trigger", "Have running PyTorch programs record themselves for a moment");
  add_repeatable(command, "--pid", "PID", "Only this process. May be repeated", trigger.pids)
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  command->add_option("--job", trigger.job, "Only processes of this Slurm job")
      ->check(CLI::PositiveNumber)
      ->type_name("JOB");
  CLI::Option* duration =
      command->add_option("--for", trigger.duration, "How long to record (default 500ms)");
  duration->type_name("TIME");
  command->add_option("--steps", trigger.steps, "Record N steps instead")
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
      "Start the programs with KINETO_USE_DAEMON=1 in their environment, or by `sonde run "
      "--on-demand`; they ask for requests every five seconds, or every second. Each writes "
      "trace_PID.json. If a dynolog daemon runs on this machine, the request goes to it.\n"
      "Example:\n  sonde trigger --for 500ms --shapes -o traces");
  command->callback([&parser, &trigger] {
    require(check(trigger));
    parser.action = [&trigger](Output& out) { return run_trigger(trigger, out); };
  });
}

}  // namespace sonde::cli
