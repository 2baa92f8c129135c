// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <string>
#include <vector>

#include "cli/options/describe.h"
#include "cli/print/nearest.h"
#include "sonde/version.h"

namespace sonde::cli {
namespace {

constexpr const char* kAbout = "Sonde is a profiler for tensor programs.";
constexpr const char* kExample =
    "Example:\n  sonde run -- python3 train.py             record an unmodified program\n  sonde "
    "info run.sonde                      what is in the trace, and what was lost\n  sonde table "
    "trace.json.gz --row-limit 10  PyTorch's operator table\n  sonde report run.sonde -o "
    "report.html     what could be faster\n  sonde export run.sonde -o run.json.gz     convert it "
    "for Perfetto, chrome://tracing or HTA\n\n`sonde COMMAND --help` explains a command. `sonde "
    "doctor` says where the guide is. Exit status: 0 success, 1 failure, 2 wrong usage.";

struct CommandGroup {
  const char* title;
  std::vector<const char*> commands;
};

// Help lists the commands under these titles.
void set_groups(CLI::App& app) {
  const std::vector<CommandGroup> groups = {
      {"Record", {"run", "ctl", "torch", "doctor", "trigger"}},
      {"Look at a trace", {"info", "dump", "table", "events", "view", "sql"}},
      {"Find out what could be faster", {"report", "memory", "graphs", "whatif", "critical-path"}},
      {"Compare", {"diff", "job", "mpi"}},
      {"Convert", {"export", "et"}},
      {"Other", {"help"}}};
  for (const CommandGroup& group : groups)
    for (const char* const name : group.commands) app.get_subcommand(name)->group(group.title);
  for (const CLI::App* const command : app.get_subcommands({}))
    for (CLI::App* const below : app.get_subcommand(command->get_name())->get_subcommands({}))
      below->group("Commands");
}

}  // namespace

Parser::Parser() : app(kAbout, "sonde") {
  app.formatter(help_formatter());
  app.set_version_flag("--version", "sonde " SONDE_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  app.footer(kExample);
  add_recording(*this);
  add_setup(*this);
  add_trigger(*this);
  add_tables(*this);
  add_view(*this);
  add_analyses(*this);
  add_questions(*this);
  add_job(*this);
  add_export(*this);
  add_help(*this);
  set_groups(app);
}

bool Parser::has_command(const std::string& name) const {
  const auto has_name = [&](const CLI::App* command) { return command->get_name() == name; };
  return !app.get_subcommands(has_name).empty();
}

std::string Parser::meant_command(const std::string& name) const {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return nearest(name, names);
}

std::string Parser::meant_option(const std::string& name, const std::string& command) const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_subcommand(command)->get_options())
    for (const std::string& text : option->get_lnames()) names.push_back("--" + text);
  return nearest(name.substr(0, name.find('=')), names);
}

}  // namespace sonde::cli
