// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Options that several commands have.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "sonde/open.h"
#include "sonde/result.h"

namespace sonde::cli {

constexpr const char* kTraceFile =
    "A trace: .sonde; .json or .json.gz from PyTorch or Chrome; .sqlite from nvprof or nsys";

// --no-size-limit
constexpr const char* kSizeLimitOfFiles =
    "Open files even if they need far more memory than is usual for their size";
void add_size_limit(CLI::App* command, OpenOptions& options, const char* what);
// Which part of a trace a command looks at: --from, --to, --last, --steps, --thread.
void add_part(CLI::App* command, TracePart& part);

// The file that a command opens, and how.
template <typename Command>
void add_input(CLI::App* command, const char* name, const char* what, Command& options) {
  command->add_option(name, options.file, what)->required()->type_name("");
  add_size_limit(command, options.open,
                 "Open the file even if it needs far more memory than is usual for its size");
  add_part(command, options.open.part);
}

// --format
CLI::Option* add_format(CLI::App* command, Format& format);            // text, json, csv
CLI::Option* add_text_or_json(CLI::App* command, Format& format);      // text, json
CLI::Option* add_page_format(CLI::App* command, std::string& format);  // text, md, html, json

// `--after 5s`: `parse` converts the text for `value`.
template <typename T>
CLI::Option* add_parsed(CLI::App* command, const char* name, const char* type, const char* what,
                        T& value, Result<T> (*parse)(const std::string&)) {
  return command
      ->add_option_function<std::string>(
          name,
          [&value, name, parse](const std::string& text) {
            Result<T> parsed = parse(text);
            if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
            value = *std::move(parsed);
          },
          what)
      ->type_name(type);
}

// `--thread a --thread b`: an option with one value that may be given several times.
template <typename T>
CLI::Option* add_repeatable(CLI::App* command, const char* name, const char* type, const char* what,
                            std::vector<T>& values) {
  return command->add_option(name, values, what)->take_all()->expected(1)->type_name(type);
}

// Throws what the parser says of wrong usage.
void require(const Result<void>& checked);

}  // namespace sonde::cli
