// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/help/pages.h"

#include <string>

namespace sonde::cli {
namespace {

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

std::string option_cell(const DescribedOption& option) {
  std::string cell;
  for (const std::string& name : option.names) cell += (cell.empty() ? "" : ", ") + name;
  if (option.value_is_optional) return cell + "[=" + option.value + "]";
  if (option.value.empty()) return cell;
  return cell.empty() ? option.value : cell + " " + option.value;
}

std::string option_rows(const char* title, const std::vector<DescribedOption>& options) {
  if (options.empty()) return {};
  std::string out = std::string("\n| ") + title + " | |\n|---|---|\n";
  for (const DescribedOption& option : options)
    out += "| ``" + option_cell(option) + "`` | " + markdown_cell(option.text) + " |\n";
  return out;
}

std::string section_of(const DescribedCommand& command) {
  std::string out = "\n## " + command.name + "\n\n" + command.text + ".\n\n```\n" + command.name +
                    " " + usage_of(command) + "\n```\n";
  out += option_rows("Argument", command.arguments) + option_rows("Option", command.options);
  for (const std::string& note : command.notes) out += "\n" + note + "\n";
  if (command.examples.empty()) return out;
  out += "\n```\n";
  for (const std::string& line : command.examples) out += line + "\n";
  return out + "```\n";
}

}  // namespace

std::string markdown_page(const DescribedCommand& program) {
  std::string page =
      "# Commands\n\nEvery command and option of the program. `sonde help COMMAND` "
      "prints the same on the terminal.\n";
  for (const DescribedCommand* command : with_all_below(program)) page += section_of(*command);
  return page;
}

}  // namespace sonde::cli
