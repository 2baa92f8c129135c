// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/compare/diff.h"
#include "cli/options/common.h"
#include "cli/run/values.h"
#include "cli/sql/sql.h"

namespace sonde::cli {
namespace {

void add_sql(Parser& parser) {
  auto& sql = parser.keep<SqlCommand>();
  CLI::App* command = parser.app.add_subcommand("sql", "Query one or more traces with SQL");
  command
      ->add_option("TRACE", sql.words,
                   "Traces or folders of traces, then the query. Without a query, opens a shell, "
                   "or reads queries from standard input")
      ->required()
      ->type_name("");
  add_size_limit(command, sql.open, kSizeLimitOfFiles);
  add_part(command, sql.open.part);
  command
      ->add_option("--format", sql.format,
                   "Output format: table (default), markdown, csv, json or parquet")
      ->check(CLI::IsMember({"table", "markdown", "csv", "json", "parquet"}))
      ->type_name("FORMAT");
  command->add_option("-o,--output", sql.output, "Write the rows here")->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--time-limit",
          [&sql](const std::string& text) {
            sql.time_limit_s = 0;
            if (text == "0") return;
            const Result<std::int64_t> parsed = parse_duration(text);
            if (!parsed) throw CLI::ValidationError("--time-limit", parsed.error().message);
            sql.time_limit_s = static_cast<double>(*parsed) / 1e9;
          },
          "Stop a query after this time, like 20s or 10m (default 5m); 0 lets it run")
      ->type_name("TIME");
  command->footer(
      "`sonde sql TRACE .tables` lists the tables, .schema their columns, .functions the "
      "functions; docs/sql.md has recipes. Queries cannot change anything.\nExample:\n  sonde sql "
      "run.sonde "
      "'SELECT name, count, duration_text(total_ns) FROM operators ORDER BY total_ns DESC LIMIT "
      "10'");
  command->callback([&parser, &sql] {
    require(check(sql));
    parser.action = [&sql](Output& out) { return run_sql(sql, out); };
  });
}

void add_diff(Parser& parser) {
  auto& diff = parser.keep<DiffCommand>();
  CLI::App* command = parser.app.add_subcommand(
      "diff", "Compare runs of a program with runs of its changed version");
  command
      ->add_option("BASE", diff.base,
                   "Runs of the old version: traces, folders of traces, or a baseline "
                   "(.sondebase). Those of the new version follow after `--`")
      ->type_name("");
  add_size_limit(command, diff.open, kSizeLimitOfFiles);
  add_part(command, diff.open.part);
  add_repeatable(command, "--gate", "GATE",
                 "Fail if the new version is worse: 'step<5%', 'device<2%', 'peak_memory<1%', "
                 "'launches=0'. May be repeated",
                 diff.gates);
  command
      ->add_option("--format", diff.format,
                   "Output format: text (default), markdown, json, junit or html; the keys are "
                   "stable")
      ->check(CLI::IsMember({"text", "markdown", "json", "junit", "html"}))
      ->type_name("FORMAT");
  command
      ->add_option("-o,--output", diff.output,
                   "Write the result here; a name that ends in .html gives a page")
      ->type_name("FILE");
  command
      ->add_option("--record", diff.record,
                   "Write the runs of BASE as a small baseline instead of comparing them")
      ->type_name("FILE.sondebase");
  command
      ->add_option("--history", diff.history,
                   "Add the figures of the runs of BASE to this file of JSON lines, and show "
                   "which version changed a figure")
      ->type_name("FILE.jsonl");
  command
      ->add_option("--commit", diff.commit,
                   "The version of the runs (default: GITHUB_SHA or CI_COMMIT_SHA)")
      ->type_name("NAME");
  command->add_flag("--group-by-input-shape", diff.grouping.by_shapes,
                    "Tell operators of one name apart by the sizes of their inputs");
  command->add_flag("--group-by-module", diff.grouping.by_module,
                    "Tell operators of one name apart by the module that ran them");
  command
      ->add_option("--row-limit", diff.row_limit,
                   "Show at most N rows of each explanation (default 10); -1 shows all")
      ->type_name("N");
  command->footer(
      "Exit status: 0 no gate failed, 1 a gate failed or something went wrong, 2 wrong usage, 3 "
      "the runs are too few or vary too much to decide a gate.\nUse at least three runs of each "
      "version: host times of single runs are not tested. docs/ci.md shows how to gate pull "
      "requests.\nExample:\n  sonde diff main/*.sonde -- change/*.sonde --gate 'step<5%' --gate "
      "'launches=0'");
  command->callback([&parser, &diff] {
    diff.now = parser.after_mark;
    const bool compares = diff.record.empty() && diff.history.empty();
    if (diff.now.empty() && diff.base.size() == 2 && compares) {
      diff.now = {diff.base.back()};
      diff.base.pop_back();
    }
    require(check(diff));
    parser.action = [&parser, &diff](Output& out) -> Result<void> {
      SONDE_TRY(parser.exit_status, run_diff(diff, out));
      return {};
    };
  });
}

}  // namespace

void add_questions(Parser& parser) {
  add_sql(parser);
  add_diff(parser);
}

std::vector<std::string> split_sides(std::vector<char*>& words) {
  const auto mark = std::find_if(words.begin(), words.end(),
                                 [](const char* word) { return std::string_view(word) == "--"; });
  if (mark == words.end()) return {};
  const auto end =
      std::find_if(mark + 1, words.end(), [](const char* word) { return word[0] == '-'; });
  std::vector<std::string> sides(mark + 1, end);
  words.erase(mark, end);
  return sides;
}

}  // namespace sonde::cli
