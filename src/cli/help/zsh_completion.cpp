// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/help/pages.h"

#include <string>

namespace sonde::cli {
namespace {

// Inside '...' of zsh, where _arguments gives a meaning to some characters of its own.
std::string zsh_text(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out;
}

std::string zsh_action(const DescribedOption& option) {
  switch (offered(option)) {
    case Offer::Choices: {
      std::string words;
      for (const std::string& choice : option.choices) words += (words.empty() ? "" : " ") + choice;
      return "(" + words + ")";
    }
    case Offer::Files:
      return "_files";
    case Offer::Folders:
      return "_files -/";
    case Offer::Programs:
      return "_command_names -e";
    case Offer::Commands:
      return "_sonde_commands";
    case Offer::Nothing:
      break;
  }
  return " ";
}

// Each name of an option is a specification of its own; giving one excludes the others.
std::string zsh_option(const DescribedOption& option) {
  std::string all;
  for (const std::string& name : option.names) all += (all.empty() ? "" : " ") + name;
  const std::string excluded = option.is_repeated ? "*" : "(" + all + ")";
  std::string out;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    out.append(" \\\n        '").append(excluded).append(name);
    if (option.value_is_optional)
      out += "=-";
    else if (!option.value.empty())
      out += is_long ? "=" : "+";
    out += "[" + zsh_text(option.text, "[]:\\") + "]";
    if (!option.value.empty())
      out += (option.value_is_optional ? "::" : ":") + zsh_text(option.value, ":\\") + ":" +
             zsh_action(option);
    out += "'";
  }
  return out;
}

std::string zsh_argument(const DescribedOption& argument) {
  if (offered(argument) == Offer::Programs)
    return " \\\n        '(-):program:_command_names -e' \\\n        '*::arguments:_normal'";
  return std::string(" \\\n        '") +
         (argument.is_repeated   ? "*:"
          : argument.is_required ? ":"
                                 : "::") +
         zsh_text(argument.value, ":\\") + ":" + zsh_action(argument) + "'";
}

std::string zsh_list(const DescribedCommand& command) {
  std::string out;
  for (const DescribedCommand& below : command.commands)
    out += "    '" + last_word(below) + ":" + zsh_text(below.text, ":\\") + "'\n";
  return out;
}

std::string zsh_function(const DescribedCommand& command) {
  std::string name = page_name(command);
  std::string out = "\n_" + name + "() {\n";
  if (command.commands.empty()) {
    out += "      _arguments -s -S";
    for (const DescribedOption& option : command.options) out += zsh_option(option);
    for (const DescribedOption& argument : command.arguments) out += zsh_argument(argument);
    return out + "\n}\n";
  }
  out += "  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n    _" + name +
         "_commands\n    return\n  fi\n  if ((CURRENT == 2)); then\n    _arguments -s -S";
  for (const DescribedOption& option : command.options) out += zsh_option(option);
  out +=
      "\n    return\n  fi\n  local below=$words[2]\n  shift words\n  ((CURRENT -= 1))\n"
      "  if (($+functions[_" +
      name + "-$below])); then\n    _" + name + "-$below\n  fi\n}\n";
  out += "\n_" + name + "_commands() {\n  local -a commands=(\n" + zsh_list(command) +
         "  )\n  _describe command commands\n}\n";
  return out;
}

}  // namespace

std::string zsh_completion(const DescribedCommand& program) {
  std::string out =
      "#compdef sonde\n# Completion of sonde for zsh. Written by `sonde help --completions zsh`.\n";
  for (const DescribedCommand* command : with_all_below(program)) out += zsh_function(*command);
  // The file is sourced, or it is the body of an autoloaded function.
  return out +
         "\nif [[ $funcstack[1] == _sonde ]]; then\n  _sonde \"$@\"\nelse\n  compdef _sonde "
         "sonde\nfi\n";
}

}  // namespace sonde::cli
