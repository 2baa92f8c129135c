// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/help/description.h"

#include <algorithm>
#include <cstddef>
#include <sstream>

namespace sonde::cli {
namespace {

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string argument_usage(const DescribedOption& argument) {
  const std::string name = argument.value + (argument.is_repeated ? "..." : "");
  return argument.is_required ? name : "[" + name + "]";
}

}  // namespace

Offer offered(const DescribedOption& option) {
  if (!option.choices.empty()) return Offer::Choices;
  const std::string& value = option.value;
  if (value == "PROGRAM") return Offer::Programs;
  if (value == "COMMAND") return Offer::Commands;
  if (value == "FOLDER") return Offer::Folders;
  const bool is_output =
      std::find(option.names.begin(), option.names.end(), "--output") != option.names.end();
  if (is_output || value.starts_with("FILE")) return Offer::Files;
  return is_one_of(value, {"TRACE", "OTHER", "BASE"}) ? Offer::Files : Offer::Nothing;
}

std::string last_word(const DescribedCommand& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

std::string page_name(const DescribedCommand& command) {
  std::string name = command.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string usage_of(const DescribedCommand& command) {
  std::string usage = command.options.empty() ? "" : "[OPTIONS]";
  if (!command.commands.empty()) return usage + " COMMAND";
  for (const DescribedOption& argument : command.arguments) {
    if (offered(argument) == Offer::Programs) usage += " --";
    usage += " " + argument_usage(argument);
  }
  return usage;
}

std::vector<const DescribedCommand*> with_all_below(const DescribedCommand& command) {
  std::vector<const DescribedCommand*> all = {&command};
  for (const DescribedCommand& below : command.commands) {
    const auto more = with_all_below(below);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void read_footer(const std::string& footer, DescribedCommand& into) {
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  "))
      into.examples.push_back(line.substr(2));
    else if (!line.empty() && line != "Example:")
      into.notes.push_back(line);
  }
}

}  // namespace sonde::cli
