// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/describe.h"

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sonde::cli {
namespace {

// "FORMAT" of "FORMAT:{text,json}"
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// "text" and "json" of "FORMAT:{text,json}"
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') return {};
  std::istringstream list(type.substr(begin + 2, type.size() - begin - 3));
  std::vector<std::string> choices;
  for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
  return choices;
}

std::string names_of(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;  // by name, not by address: pages do not differ between runs
  for (const CLI::Option* option : options) names.insert(option->get_name());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string text_of(const CLI::Option& option) {
  std::string text = option.get_description();
  const std::string excluded = names_of(option.get_excludes());
  const std::string needed = names_of(option.get_needs());
  if (!excluded.empty()) text += ". Not with " + excluded;
  if (!needed.empty()) text += ". Only with " + needed;
  return text;
}

DescribedOption described_option(const CLI::Option& option) {
  DescribedOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  const bool is_argument = option.get_positional();
  if (is_argument) out.names.clear();
  const bool takes_value = is_argument || option.get_items_expected_max() > 0;
  if (takes_value) out.value = is_argument ? option.get_name(true) : value_name(option);
  out.choices = choices_of(option);
  out.text = text_of(option);
  out.value_is_optional = !is_argument && takes_value && option.get_items_expected_min() == 0;
  out.is_required = option.get_required();
  out.is_repeated = option.get_items_expected_max() > 1 ||
                    option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return out;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const DescribedOption described = described_option(*option);
    if (is_positional) return described.value;
    std::string names;
    for (const std::string& name : described.names) names += (names.empty() ? "" : ", ") + name;
    return names;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional()) return option->get_items_expected_max() > 1 ? " ..." : "";
    return value_text(described_option(*option));
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return text_of(*option);
  }

 private:
  static std::string value_text(const DescribedOption& option) {
    if (option.value.empty()) return "";
    std::string choices;
    for (const std::string& choice : option.choices)
      choices += (choices.empty() ? "" : ",") + choice;
    const std::string value = choices.empty() ? option.value : "{" + choices + "}";
    return option.value_is_optional ? "[=" + value + "]" : " " + value;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

DescribedCommand described(const CLI::App& command, const std::string& name) {
  DescribedCommand out;
  out.name = name;
  out.text = command.get_description();
  if (out.text.ends_with('.')) out.text.pop_back();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    DescribedOption made = described_option(*option);
    (made.names.empty() ? out.arguments : out.options).push_back(std::move(made));
  }
  for (const CLI::App* below : command.get_subcommands({}))
    out.commands.push_back(described(*below, name + " " + below->get_name()));
  read_footer(command.get_footer(), out);
  return out;
}

}  // namespace sonde::cli
