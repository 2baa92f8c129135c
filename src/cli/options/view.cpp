// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include "cli/answer/view.h"
#include "cli/options/common.h"

namespace sonde::cli {

void add_view(Parser& parser) {
  auto& view = parser.keep<ViewCommand>();
  CLI::App* command =
      parser.app.add_subcommand("view", "Show the timeline and all views in a browser");
  add_input(command, "TRACE", kTraceFile, view);
  command
      ->add_option("RANKS", view.more,
                   "Traces of the other ranks of the same job: the page shows all of them on "
                   "one timeline, and who held the others up")
      ->type_name("");
  add_repeatable(command, "--against", "FILE",
                 "Runs of the old version: the page shows what changed, as `sonde diff` does",
                 view.against);
  CLI::Option* output =
      command
          ->add_option("-o,--output", view.output,
                       "Write the page with its data to this .html file instead of serving it")
          ->type_name("FILE");
  command->add_option("--at", view.at, "Show this first. \"Copy link\" in the page gives the text")
      ->type_name("STATE");
  command->add_option("--port", view.port, "Listen on this port of 127.0.0.1 (default: any)")
      ->check(CLI::Range(0, 65535))
      ->type_name("N")
      ->excludes(output);
  command->add_flag_callback(
      "--no-browser", [&view] { view.browser = false; },
      "Print the address; do not open a browser");
  command
      ->add_option("--most-spans", view.most_spans,
                   "With -o: write at most N spans (default 1000000). A page of a larger trace "
                   "shows only some of its time")
      ->type_name("N")
      ->needs(output);
  command->footer(
      "The page is for this machine only: it listens on 127.0.0.1, and the address contains a "
      "secret token.\nExamples:\n  sonde view train.sonde\n  sonde view train.sonde -o "
      "train.html\n  sonde view run/rank*.json.gz\n  sonde view run/\n  sonde view new.sonde "
      "--against old.sonde");
  command->callback([&parser, &view] {
    require(check(view));
    parser.action = [&view](Output& out) { return run_view(view, out); };
  });
}

}  // namespace sonde::cli
