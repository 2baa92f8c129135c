// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/parser.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/options/common.h"

namespace sonde::cli {
namespace {

// Rejects options that would have no effect.
void only_in_text(const CLI::App* command, Format wanted) {
  if (wanted == Format::Text) return;
  for (const char* const name :
       {"--header", "--time-unit", "--max-name-width", "--max-shapes-width", "--max-src-width"})
    if (command->count(name) > 0) throw CLI::ValidationError(name, "only works with --format text");
}

// Programs want all rows; people want one page of them.
void limit_rows(const CLI::App* command, Format wanted, TableOptions& options) {
  if (wanted != Format::Text && command->count("--row-limit") == 0) options.row_limit = -1;
}

// Unless the user says how wide the table is to be.
bool fits_terminal(const CLI::App* command) {
  for (const char* const name :
       {"--wide", "--max-name-width", "--max-shapes-width", "--max-src-width"})
    if (command->count(name) > 0) return false;
  return true;
}

CLI::Validator check_with(bool (*is_known)(std::string_view),
                          const std::vector<std::string_view>& known) {
  return CLI::Validator(
      [is_known, &known](std::string& given) {
        if (is_known(given)) return std::string();
        std::string problem = "unknown value '" + given + "'; use one of:";
        for (const std::string_view name : known) problem += ' ' + std::string(name);
        return problem;
      },
      "");
}

void add_table_options(CLI::App* command, TableOptions& options) {
  command
      ->add_option("--sort-by", options.sort_by,
                   "Sort by this, largest first: cpu_time_total, self_cpu_time_total, "
                   "self_device_time_total, count, flops, …")
      ->check(check_with(is_sort_key, sort_keys()))
      ->type_name("KEY");
  command
      ->add_option("--row-limit", options.row_limit,
                   "Show at most N rows (default 100; all in json and csv); -1 shows all")
      ->type_name("N");
  command
      ->add_option("--columns", options.columns,
                   "Add columns: p50, p95, max, launches, device_union, flops_per_second")
      ->delimiter(',')
      ->check(check_with(is_extra_column, extra_columns()))
      ->type_name("LIST");
  command->add_option("--header", options.header, "Print this line above the table")
      ->type_name("TEXT");
  command->add_option("--time-unit", options.time_unit, "Print all times in us, ms or s")
      ->check(CLI::IsMember({"us", "ms", "s"}))
      ->type_name("UNIT");
  command->add_flag("--top-level", options.top_level_events_only,
                    "Show only operators that no other operator called. As in PyTorch, a table has "
                    "a row if the first call in it was such an operator");
  const auto add_width = [command](const char* name, std::optional<int>& width, const char* what) {
    command
        ->add_option_function<int>(
            name,
            [&width](const int& given) {
              width = given < 0 ? std::nullopt : std::optional<int>(given);
            },
            what)
        ->type_name("N");
  };
  add_width("--max-name-width", options.max_name_column_width,
            "Width of names (default 55); -1 for no limit");
  add_width("--max-shapes-width", options.max_shapes_column_width,
            "Width of input shapes (default 80); -1 for no limit");
  add_width("--max-src-width", options.max_src_column_width,
            "Width of source locations (default 75); -1 for no limit");
}

void add_info(Parser& parser) {
  auto& info = parser.keep<InfoOptions>();
  CLI::App* command = parser.app.add_subcommand(
      "info", "Show what is in a trace, what was lost, and what recording cost");
  add_input(command, "FILE", kTraceFile, info);
  add_text_or_json(command, info.format);
  command->add_flag("--check", info.check, "Also decode all events, to find damage in them");
  command->footer("Example:\n  sonde info run.sonde --format json | python3 -m json.tool");
  command->callback(
      [&parser, &info] { parser.action = [&info](Output& out) { return run_info(info, out); }; });
}

void add_dump(Parser& parser) {
  auto& dump = parser.keep<DumpOptions>();
  CLI::App* command = parser.app.add_subcommand("dump", "Print everything in a trace as text");
  add_input(command, "FILE", kTraceFile, dump);
  command->footer("Example:\n  sonde dump run.sonde | less");
  command->callback(
      [&parser, &dump] { parser.action = [&dump](Output& out) { return run_dump(dump, out); }; });
}

void add_table(Parser& parser) {
  auto& table = parser.keep<TableCommand>();
  CLI::App* command = parser.app.add_subcommand("table", "Print PyTorch's operator table");
  add_input(command, "TRACE", kTraceFile, table);
  add_table_options(command, table.table);
  command->add_flag("--group-by-input-shape", table.group_by.group_by_input_shape,
                    "One row for each name and input shapes");
  command
      ->add_option("--group-by-stack", table.group_by.group_by_stack_n,
                   "One row for each name and its N innermost callers")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_flag("--group-by-overload", table.group_by.group_by_overload_name,
                    "One row for each name and overload");
  add_format(command, table.format);
  command->add_flag("--wide", table.is_wide,
                    "Show all columns, even if the terminal is too narrow for them");
  command->footer(
      "Example:\n  sonde table step.pt.trace.json.gz --sort-by self_device_time_total "
      "--row-limit 20");
  command->callback([&parser, &table, command] {
    only_in_text(command, table.format);
    limit_rows(command, table.format, table.table);
    table.fits_terminal = fits_terminal(command);
    parser.action = [&table](Output& out) { return run_table(table, out); };
  });
}

void add_events(Parser& parser) {
  auto& events = parser.keep<EventsCommand>();
  CLI::App* command =
      parser.app.add_subcommand("events", "List the events behind the operator table");
  add_input(command, "TRACE", kTraceFile, events);
  add_table_options(command, events.table);
  add_format(command, events.format);
  command->footer("Example:\n  sonde events step.pt.trace.json.gz --format json");
  command->callback([&parser, &events, command] {
    only_in_text(command, events.format);
    limit_rows(command, events.format, events.table);
    parser.action = [&events](Output& out) { return run_events(events, out); };
  });
}

}  // namespace

void add_tables(Parser& parser) {
  add_info(parser);
  add_dump(parser);
  add_table(parser);
  add_events(parser);
}

}  // namespace sonde::cli
