// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What is written from the description of the commands: for man, for the shells, for the site.
//
//   manual_page(command)                  sonde-run.1, for `man sonde-run`
//   completion_for("bash", program)       what bash sources

#include <string>
#include <string_view>

#include "cli/help/description.h"
#include "sonde/result.h"

namespace sonde::cli {

// In the language of man(7). Other pages of `program` are named at the end.
std::string manual_page(const DescribedCommand& command, const DescribedCommand& program);
// All commands as one page of Markdown.
std::string markdown_page(const DescribedCommand& program);

std::string bash_completion(const DescribedCommand& program);
std::string zsh_completion(const DescribedCommand& program);
std::string fish_completion(const DescribedCommand& program);

// Writes all of them into a folder: man1/sonde.1, man1/sonde-run.1, …, sonde.bash, _sonde,
// sonde.fish, commands.md.
Result<void> write_help_files(const DescribedCommand& program, const std::string& folder);

}  // namespace sonde::cli
