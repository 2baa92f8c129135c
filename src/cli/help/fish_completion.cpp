// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/help/pages.h"

#include <string>

namespace sonde::cli {
namespace {

constexpr std::string_view kFishBegin =
    R"(# Completion of sonde for fish. Written by `sonde help --completions fish`.

# Whether the words after `sonde` begin with these, and -- is not among them.
function __sonde_at
    set -l words (commandline -opc)
    set -e words[1]
    contains -- -- $words; and return 1
    set -l size (count $argv)
    test (count $words) -ge $size; or return 1
    test $size -eq 0; and return 0
    test "$words[1..$size]" = "$argv"
end

# The same, and no more words.
function __sonde_exactly
    test (count (commandline -opc)) -eq (math (count $argv) + 1); and __sonde_at $argv
end

# Whether the program that `sonde run` starts is being typed.
function __sonde_in_program
    set -l words (commandline -opc)
    test "$words[2]" = run; and contains -- -- $words
end

function __sonde_program
    set -l words (commandline -opc)
    set -l from (math (contains -i -- -- $words) + 1)
    set -l line ''
    test (count $words) -ge $from; and set line (string escape -- $words[$from..-1] | string join ' ')
    complete -C (string trim -l -- "$line "(commandline -ct))
end

complete -c sonde -f
complete -c sonde -n __sonde_in_program -a '(__sonde_program)'
)";

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return fish_quoted(out);
}

// What follows `complete` to offer values of an option or argument.
std::string fish_offer(const DescribedOption& option, const DescribedCommand& program) {
  switch (offered(option)) {
    case Offer::Choices:
      return " -a " + fish_words(option.choices);
    case Offer::Files:
      return " -F";
    case Offer::Folders:
      return " -a '(__fish_complete_directories (commandline -ct))'";
    case Offer::Programs:
      return " -a '(__fish_complete_command)'";
    case Offer::Commands: {
      std::vector<std::string> words;
      words.reserve(program.commands.size());
      for (const DescribedCommand& command : program.commands) words.push_back(last_word(command));
      return " -a " + fish_words(words);
    }
    case Offer::Nothing:
      break;
  }
  return "";
}

std::string fish_option(const std::string& begin, const DescribedOption& option,
                        const DescribedCommand& program) {
  std::string out = begin;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) {
    if (!option.value_is_optional) out += " -r";
    out += fish_offer(option, program);
  }
  return out + " -d " + fish_quoted(option.text) + "\n";
}

std::string fish_command(const DescribedCommand& command, const DescribedCommand& program) {
  const std::string path = command.name.substr(program.name.size());
  const std::string begin = "complete -c sonde -n '__sonde_at" + path + "'";
  const std::string exactly = "complete -c sonde -n '__sonde_exactly" + path + "'";
  std::string out = "\n";
  for (const DescribedCommand& below : command.commands)
    out += exactly + " -a " + last_word(below) + " -d " + fish_quoted(below.text) + "\n";
  // A group has no options besides those of its commands; the program's end at its first word.
  for (const DescribedOption& option : command.options)
    out += fish_option(command.commands.empty() ? begin : exactly, option, program);
  for (const DescribedOption& argument : command.arguments) {
    const std::string offer = fish_offer(argument, program);
    if (!offer.empty()) out += begin + offer + "\n";
  }
  return out;
}

}  // namespace

std::string fish_completion(const DescribedCommand& program) {
  std::string out(kFishBegin);
  for (const DescribedCommand* command : with_all_below(program))
    out += fish_command(*command, program);
  return out;
}

}  // namespace sonde::cli
