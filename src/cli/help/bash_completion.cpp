// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/help/pages.h"

#include <string>

namespace sonde::cli {
namespace {

constexpr std::string_view kBashBegin =
    R"(# Completion of sonde for bash. Written by `sonde help --completions bash`.
_sonde_program() {  # $1: where the program to run stands
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
  else
    compopt -o default
  fi
}

# Where the program begins in the words of `sonde run`: after --, or right away.
_sonde_program_at() {
  local at
  if [[ ${COMP_WORDS[2]} != -* ]]; then
    echo 2
    return
  fi
  for ((at = 2; at < COMP_CWORD; ++at)); do
    if [[ ${COMP_WORDS[at]} == -- ]]; then
      echo $((at + 1))
      return
    fi
  done
}

_sonde() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' joined='' offered='' options='' program
  COMPREPLY=()
  if ((COMP_CWORD > 1)); then command=${COMP_WORDS[1]}; fi
)";

constexpr std::string_view kBashJoined = R"(  # --format=json arrives as three words.
  if [[ $current == = ]]; then
    current='' joined=1
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]} joined=1
  fi
)";

constexpr std::string_view kBashEnd =
    R"(  if [[ $current == -* && -z $joined ]]; then offered=$options; fi
  mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$current")
}
complete -F _sonde sonde
)";

std::string joined_by(const std::vector<std::string>& words, const std::string& between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::string words_below(const DescribedCommand& command) {
  std::vector<std::string> words;
  words.reserve(command.commands.size());
  for (const DescribedCommand& below : command.commands) words.push_back(last_word(below));
  return joined_by(words, " ");
}

// What offers the values of an option or argument, as a statement of bash.
std::string bash_offer(const DescribedOption& option, const DescribedCommand& program) {
  switch (offered(option)) {
    case Offer::Choices:
      return "offered+=' " + joined_by(option.choices, " ") + "'";
    case Offer::Commands:
      return "offered+=' " + words_below(program) + "'";
    case Offer::Files:
      return "compopt -o default";
    case Offer::Folders:
      return "compopt -o dirnames";
    case Offer::Programs:
      return "compopt -o default -o bashdefault";
    case Offer::Nothing:
      break;
  }
  return ":";
}

std::string bash_values(const DescribedCommand& command, const DescribedCommand& program) {
  std::string cases;
  for (const DescribedOption& option : command.options) {
    if (option.value.empty()) continue;
    const std::string then = bash_offer(option, program);
    cases += "        " + joined_by(option.names, " | ") + ")";
    if (option.value_is_optional)
      cases += " if [[ -n $joined ]]; then " + then + "; options=; fi ;;\n";
    else
      cases += " " + then + "; options= ;;\n";
  }
  return cases;
}

std::string bash_command(const DescribedCommand& command, const DescribedCommand& program) {
  const std::string path =
      command.name == program.name ? "" : command.name.substr(program.name.size() + 1);
  std::string out = "    '" + path + "')\n";
  std::vector<std::string> names;
  for (const DescribedOption& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  out += "      options='" + joined_by(names, " ") + "'\n      case $before in\n" +
         bash_values(command, program) + "        *)\n          [[ $current == -* ]] || offered='" +
         words_below(command) + "'\n";
  for (const DescribedOption& argument : command.arguments)
    out += "          [[ $current == -* ]] || " + bash_offer(argument, program) + "\n";
  return out + "          ;;\n      esac\n      ;;\n";
}

std::string bash_groups(const DescribedCommand& program) {
  std::string out;
  for (const DescribedCommand& command : program.commands) {
    if (!command.commands.empty())
      out += "  if ((COMP_CWORD > 2)) && [[ $command == " + last_word(command) +
             " ]]; then command+=\" ${COMP_WORDS[2]}\"; fi\n";
  }
  return out;
}

std::string bash_programs(const DescribedCommand& program) {
  std::string out;
  for (const DescribedCommand& command : program.commands) {
    for (const DescribedOption& argument : command.arguments) {
      if (offered(argument) == Offer::Programs)
        out += "  if [[ $command == " + last_word(command) +
               " ]]; then\n    program=$(_sonde_program_at)\n    if [[ -n $program ]]; then\n"
               "      _sonde_program \"$program\"\n      return\n    fi\n  fi\n";
    }
  }
  return out;
}

}  // namespace

std::string bash_completion(const DescribedCommand& program) {
  std::string out(kBashBegin);
  out += bash_groups(program) + bash_programs(program);
  out += kBashJoined;
  out += "  case $command in\n";
  for (const DescribedCommand* command : with_all_below(program))
    out += bash_command(*command, program);
  return out + "  esac\n" + std::string(kBashEnd);
}

}  // namespace sonde::cli
