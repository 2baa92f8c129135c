// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/option_errors.h"

#include <array>
#include <regex>

#include "base/format.h"

namespace sonde::cli {
namespace {

using OptionMatch = std::smatch;

// "text,json,csv" as "text, json, csv"
std::string with_spaces(const std::string& list) {
  return std::regex_replace(list, std::regex(","), ", ");
}

// "65535", "0.000000" and numbers of 300 digits as people write them; empty: no limit.
std::string limit_text(const std::string& number) {
  constexpr std::size_t kMostDigits = 18;
  const std::string whole = number.substr(0, number.find('.'));
  return whole.size() > kMostDigits ? "" : whole;
}

std::string limits_text(const OptionMatch& found) {
  const std::string least = limit_text(found[3]);
  const std::string most = limit_text(found[4]);
  if (most.empty())
    return format_text("{}: {} is less than {}", found[1].str(), found[2].str(), least);
  return format_text("{}: {} is not between {} and {}", found[1].str(), found[2].str(), least,
                     most);
}

struct OptionRule {
  const char* pattern;
  std::string (*words)(const OptionMatch& found);
};

const std::array kOptionRules = {
    OptionRule{"A subcommand is required",
               [](const OptionMatch& /*found*/) { return std::string("no command given"); }},
    OptionRule{
        "(-.*) is required",
        [](const OptionMatch& found) { return format_text("{} is missing", found[1].str()); }},
    OptionRule{"(.*) is required",
               [](const OptionMatch& found) { return format_text("no {} given", found[1].str()); }},
    OptionRule{"Could not convert: (.*) = (.*)",
               [](const OptionMatch& found) {
                 return format_text("{}: '{}' is not a number", found[1].str(), found[2].str());
               }},
    OptionRule{"(.*): \\d+ required (.*) missing",
               [](const OptionMatch& found) {
                 return format_text("{} needs a value: {} {}", found[1].str(), found[1].str(),
                                    found[2].str());
               }},
    OptionRule{"(.*): At Most (\\d+) required but received (\\d+)",
               [](const OptionMatch& found) {
                 return format_text("{} was given {} times; give it once", found[1].str(),
                                    found[3].str());
               }},
    OptionRule{"(.*): (.*) not in \\{(.*)\\}",
               [](const OptionMatch& found) {
                 return format_text("{}: '{}' is none of {}", found[1].str(), found[2].str(),
                                    with_spaces(found[3].str()));
               }},
    OptionRule{"(.*): Value (.*) not in range (.*) to (.*)", limits_text},
    OptionRule{"The following argument was not expected: (.*)",
               [](const OptionMatch& found) {
                 return format_text("unexpected argument '{}'", found[1].str());
               }},
    OptionRule{"The following arguments were not expected: (.*)",
               [](const OptionMatch& found) {
                 return format_text("unexpected arguments: {}", found[1].str());
               }},
};

}  // namespace

std::string in_own_words(std::string_view message) {
  std::string text(message);
  for (const OptionRule& rule : kOptionRules) {
    OptionMatch found;
    if (std::regex_match(text, found, std::regex(rule.pattern))) return rule.words(found);
  }
  return text;
}

}  // namespace sonde::cli
