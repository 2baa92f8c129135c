// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <string>
#include <vector>

#include "cli/help/pages.h"
#include "cli/options/describe.h"
#include "cli/options/parser.h"

namespace sonde::cli {
namespace {

struct HelpCommand {
  std::vector<std::string> words;  // the command to explain; none: the program
  std::string completions;         // a shell
  std::string folder;              // for all files
  bool manual = false;
};

// The command that `words` name, and the names above it.
struct FoundCommand {
  const CLI::App* command;
  std::string above;
};

FoundCommand find_command(const Parser& parser, const std::vector<std::string>& words) {
  FoundCommand found{&parser.app, ""};
  for (const std::string& word : words) {
    const auto below = found.command->get_subcommands(
        [&](const CLI::App* command) { return command->get_name() == word; });
    if (below.empty()) {
      const std::string meant = words.size() == 1 ? parser.meant_command(word) : "";
      throw CLI::ValidationError("no command '" + word + "'" +
                                 (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
    }
    found.above += (found.above.empty() ? "" : " ") + found.command->get_name();
    found.command = below.front();
  }
  return found;
}

std::string whole_name(const FoundCommand& found) {
  return (found.above.empty() ? "" : found.above + " ") + found.command->get_name();
}

std::string completions_for(const std::string& shell, const DescribedCommand& program) {
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

Result<void> run_help(const Parser& parser, const HelpCommand& help, Output& out) {
  const FoundCommand found = find_command(parser, help.words);
  if (!help.manual && help.completions.empty() && help.folder.empty()) {
    // Not App::help, which explains the command that was given: this one.
    out.write(parser.app.get_formatter()->make_help(found.command, whole_name(found),
                                                    CLI::AppFormatMode::Normal));
    return {};
  }
  out.for_programs();
  const DescribedCommand program = described(parser.app, "sonde");
  if (!help.folder.empty()) return write_help_files(program, help.folder);
  out.write(help.manual ? manual_page(described(*found.command, whole_name(found)), program)
                        : completions_for(help.completions, program));
  return {};
}

}  // namespace

void add_help(Parser& parser) {
  auto& help = parser.keep<HelpCommand>();
  CLI::App* command = parser.app.add_subcommand("help", "Explain a command");
  command->add_option("COMMAND", help.words, "The command; without one, all are listed")
      ->type_name("");
  CLI::Option* manual =
      command->add_flag("--man", help.manual, "Print the source of its manual page");
  command
      ->add_option("--completions", help.completions,
                   "Print what this shell needs to complete commands, options and files")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL")
      ->excludes(manual);
  command->add_option("--write-files", help.folder, "Write all of these files into a folder")
      ->type_name("FOLDER");
  command->footer(
      "Packages install the manual pages and completions; these options are for other "
      "installations.\nExample:\n  sonde help run\n  sonde help torch build\n  sonde help --man "
      "run | man -l -\n  source <(sonde help --completions bash)");
  command->callback([&parser, &help] {
    find_command(parser, help.words);  // says which is wrong
    parser.action = [&parser, &help](Output& out) { return run_help(parser, help, out); };
  });
}

}  // namespace sonde::cli
