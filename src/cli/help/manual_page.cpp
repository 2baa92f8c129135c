// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/help/pages.h"

#include <cctype>
#include <string>

#include "sonde/version.h"

namespace sonde::cli {
namespace {

// Characters that man(7) would read as commands, or print as typographic ones.
std::string roff_character(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '~':
      return "\\(ti";
    case '^':
      return "\\(ha";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '"':
      return "\\(dq";
    default:
      return {c};
  }
}

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) out += roff_character(c);
  return out.starts_with('.') ? "\\&" + out : out;
}

// Prose: what is in `backticks` is bold.
std::string roff_prose(std::string_view text) {
  std::string out;
  bool is_bold = false;
  for (const char c : text) {
    if (c == '`') {
      is_bold = !is_bold;
      out += is_bold ? "\\fB" : "\\fR";
    } else {
      out += roff_character(c);
    }
  }
  if (is_bold) out += "\\fR";
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string option_heading(const DescribedOption& option) {
  std::string heading;
  for (const std::string& name : option.names) {
    if (!heading.empty()) heading += ", ";
    heading += bold(name);
  }
  if (option.names.empty()) return italic(option.value);
  if (option.value_is_optional) return heading + "[=" + italic(option.value) + "]";
  return option.value.empty() ? heading : heading + " " + italic(option.value);
}

std::string option_list(const char* title, const std::vector<DescribedOption>& options) {
  if (options.empty()) return {};
  std::string out = std::string(".SH ") + title + "\n";
  for (const DescribedOption& option : options)
    out += ".TP\n" + option_heading(option) + "\n" + roff_prose(option.text) + ".\n";
  return out;
}

std::string command_list(const DescribedCommand& command) {
  if (command.commands.empty()) return {};
  std::string out = ".SH COMMANDS\n";
  for (const DescribedCommand& below : command.commands)
    out += ".TP\n" + bold(page_name(below)) + "(1)\n" + roff_prose(below.text) + ".\n";
  return out;
}

std::string notes_and_examples(const DescribedCommand& command) {
  std::string out;
  if (!command.notes.empty()) out += ".SH NOTES\n";
  for (std::size_t i = 0; i < command.notes.size(); ++i)
    out += (i == 0 ? "" : ".PP\n") + roff_prose(command.notes[i]) + "\n";
  if (command.examples.empty()) return out;
  out += ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : command.examples) out += roff(line) + "\n";
  return out + ".fi\n";
}

std::string see_also(const DescribedCommand& command, const DescribedCommand& program) {
  std::string lines;
  for (const DescribedCommand* other : with_all_below(program)) {
    if (other->name == command.name) continue;
    if (!lines.empty()) lines += ",\n";
    lines += ".BR " + roff(page_name(*other)) + " (1)";
  }
  return ".SH SEE ALSO\n" + lines + "\n";
}

}  // namespace

std::string manual_page(const DescribedCommand& command, const DescribedCommand& program) {
  std::string page = ".\\\" Written by `sonde help --man`.\n";
  page += ".TH " + roff(upper(page_name(command))) +
          " 1 \"\" \"Sonde " SONDE_VERSION "\" \"Sonde\"\n.nh\n.ad l\n";
  page += ".SH NAME\n" + roff(page_name(command)) + " \\- " + roff_prose(command.text) + "\n";
  page += ".SH SYNOPSIS\n" + bold(command.name) + " " + roff(usage_of(command)) + "\n";
  page += command_list(command);
  page += option_list("ARGUMENTS", command.arguments);
  page += option_list("OPTIONS", command.options);
  page += notes_and_examples(command);
  return page + see_also(command, program);
}

}  // namespace sonde::cli
