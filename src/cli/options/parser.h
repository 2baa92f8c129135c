// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What users type: the program's commands and their options, by subject. Only this folder and
// main.cpp include CLI11, which is slow to compile.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/print/output.h"
#include "sonde/result.h"

namespace sonde::cli {

using Action = std::function<Result<void>(Output&)>;

// The commands are added to `app`. Parsing fills the options of one of them and sets `action`.
class Parser {
 public:
  Parser();

  CLI::App app;
  Action action;
  int exit_status = 0;  // of the program that `sonde run` ran, or what `sonde diff` found
  std::vector<std::string> after_mark;  // `--`: the program to run, or the runs to compare

  // Makes the options of a command, which live as long as the parser.
  template <typename Options>
  Options& keep() {
    auto made = std::make_shared<Options>();
    Options& options = *made;
    kept_.push_back(std::move(made));
    return options;
  }

  bool has_command(const std::string& name) const;
  // What was meant in place of a command that does not exist, or of an option of `command`.
  std::string meant_command(const std::string& name) const;
  std::string meant_option(const std::string& name, const std::string& command) const;

 private:
  std::vector<std::shared_ptr<void>> kept_;
};

// Each adds some commands, in the order of `sonde --help`.
void add_recording(Parser& parser);  // run, ctl
void add_setup(Parser& parser);      // torch, doctor
void add_tables(Parser& parser);     // info, dump, table, events
void add_job(Parser& parser);        // job, mpi
void add_export(Parser& parser);
void add_analyses(Parser& parser);  // memory, et, graphs, report, whatif, critical-path
void add_view(Parser& parser);
void add_questions(Parser& parser);  // sql, diff
void add_trigger(Parser& parser);
void add_help(Parser& parser);

// `sonde run` leaves everything alone after `--`, or after its first word that is not an option:
// that is removed from `words` and returned.
std::vector<std::string> split_program(std::vector<char*>& words);
// `sonde diff BASE... -- NEW... [OPTIONS]`: the new runs end at the first option.
std::vector<std::string> split_sides(std::vector<char*>& words);

}  // namespace sonde::cli
