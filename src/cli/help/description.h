// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The commands and options of the program as plain data. options/describe.h makes it from the
// parser; manual pages, completions and the reference of the commands are written from it.

#include <cstdint>
#include <string>
#include <vector>

namespace sonde::cli {

// What a shell offers where a value is expected.
enum class Offer : std::uint8_t { Nothing, Choices, Files, Folders, Programs, Commands };

// An option, or an argument if it has no names.
struct DescribedOption {
  std::vector<std::string> names = {};    // "-o", "--output"
  std::string value = {};                 // "FILE"; empty: takes none
  std::vector<std::string> choices = {};  // if only these are accepted
  std::string text = {};
  bool value_is_optional = false;  // --gpu or --gpu=LEVEL
  bool is_required = false;
  bool is_repeated = false;
};

struct DescribedCommand {
  std::string name = {};  // "sonde torch build"
  std::string text = {};  // one line
  std::vector<DescribedOption> options = {};
  std::vector<DescribedOption> arguments = {};
  std::vector<DescribedCommand> commands = {};
  std::vector<std::string> notes = {};     // paragraphs
  std::vector<std::string> examples = {};  // lines
};

Offer offered(const DescribedOption& option);
// "build" of "sonde torch build"
std::string last_word(const DescribedCommand& command);
// "sonde-torch-build"
std::string page_name(const DescribedCommand& command);
// "[OPTIONS] TRACE [OTHER...]"
std::string usage_of(const DescribedCommand& command);
// The command, then those below it, in the order of the help.
std::vector<const DescribedCommand*> with_all_below(const DescribedCommand& command);
// Divides what stands below the options of a help text.
void read_footer(const std::string& footer, DescribedCommand& into);

}  // namespace sonde::cli
