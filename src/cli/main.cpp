// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program `sonde`: words to calls. The only file that includes CLI11, which is slow to compile.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "cli/commands.h"
#include "sonde/version.h"

namespace sonde::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kMisused = 2;

constexpr const char* kAbout = "Sonde records what a tensor program does, and answers from it.";
constexpr const char* kExample =
    "Example:\n"
    "  sonde info run.sonde        what is in a trace, what was lost, what recording cost\n"
    "\n"
    "`sonde COMMAND --help` explains a command. Exit status: 0 done, 1 failed, 2 misused.";

using Action = std::function<Result<void>(Output&)>;

struct Parser {
  CLI::App app{kAbout, "sonde"};
  InfoOptions info;
  DumpOptions dump;
  std::string format = "text";
  Action action;

  Parser() {
    app.set_version_flag("--version", "sonde " SONDE_VERSION, "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.footer(kExample);
    add_info();
    add_dump();
  }

  bool has_command(const std::string& name) {
    return !app.get_subcommands(
                   [&](const CLI::App* command) { return command->get_name() == name; })
                .empty();
  }

  void add_info() {
    CLI::App* command =
        app.add_subcommand("info", "What is in a trace, what was lost, what recording cost");
    command->add_option("FILE", info.file, "A .sonde file")->required()->type_name("");
    command->add_option("--format", format, "text (default) or json, whose keys are stable")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT");
    command->footer("Example:\n  sonde info run.sonde --format json | python3 -m json.tool");
    command->callback([this] {
      info.json = format == "json";
      action = [this](Output& out) { return run_info(info, out); };
    });
  }

  void add_dump() {
    CLI::App* command = app.add_subcommand("dump", "Everything in a trace, as readable text");
    command->add_option("FILE", dump.file, "A .sonde file")->required()->type_name("");
    command->footer("Example:\n  sonde dump run.sonde | less");
    command->callback([this] { action = [this](Output& out) { return run_dump(dump, out); }; });
  }
};

int misused(const std::string& message, const std::string& command) {
  const std::string help = command.empty() ? "sonde --help" : "sonde " + command + " --help";
  std::fprintf(stderr, "sonde: %s\nTry `%s`.\n", message.c_str(), help.c_str());
  return kMisused;
}

int run(const Action& action) {
  Output out(STDOUT_FILENO, "standard output");
  const Result<void> done = action(out);
  const Result<void> written = out.finish();
  if (out.reader_left()) return kFailed;  // whoever read us knows why
  for (const Result<void>* result : {&done, &written}) {
    if (!*result) {
      std::fprintf(stderr, "sonde: %s\n", result->error().message.c_str());
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
  if (first.front() != '-' && !is_command) return misused("no command '" + first + "'", "");

  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return parser.app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    return misused(wrong.what(), is_command ? first : "");
  }
  return run(parser.action);
}

}  // namespace
}  // namespace sonde::cli

int main(int argc, char** argv) {
  try {
    return sonde::cli::main_with(argc, argv);
  } catch (
      const std::exception& error) {  // out of memory, or a mistake in how the parser is set up
    std::fprintf(stderr, "sonde: %s\n", error.what());
    return sonde::cli::kFailed;
  }
}
