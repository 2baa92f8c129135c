// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program `sonde`: turns arguments into a call, and its result into an exit status.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "cli/changed_files.h"
#include "cli/options/parser.h"
#include "cli/out_of_memory.h"
#include "cli/print/option_errors.h"
#include "cli/print/output.h"

namespace sonde::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kMisused = 2;

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
  if (first == "run") parser.after_mark = split_program(words);
  if (first == "diff") parser.after_mark = split_sides(words);
  try {
    parser.app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    parser.app.exit(asked, text, text);
    return run([&](Output& out) -> Result<void> {
      out.write(text.str());
      return {};
    });
  } catch (const CLI::ExtrasError& wrong) {
    const std::string option = is_command ? unknown_option(parser.app.remaining(true)) : "";
    if (option.empty()) return misused(in_own_words(wrong.what()), is_command ? first : "");
    return misused("no option '" + option + "'" + did_you_mean(parser.meant_option(option, first)),
                   first);
  } catch (const CLI::ParseError& wrong) {
    return misused(in_own_words(wrong.what()), is_command ? first : "");
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
