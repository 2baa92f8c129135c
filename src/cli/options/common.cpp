// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "cli/options/common.h"

#include <cstdint>
#include <optional>
#include <string>

#include "cli/run/values.h"

namespace sonde::cli {
namespace {

CLI::Option* add_format_of(CLI::App* command, Format& format, const char* what,
                           const std::vector<std::string>& names) {
  return command
      ->add_option_function<std::string>(
          "--format",
          [&format](const std::string& name) {
            format = name == "json" ? Format::Json : name == "csv" ? Format::Csv : Format::Text;
          },
          what)
      ->check(CLI::IsMember(names))
      ->type_name("FORMAT");
}

}  // namespace

void add_size_limit(CLI::App* command, OpenOptions& options, const char* what) {
  command->add_flag_callback("--no-size-limit", [&options] { options.limit_size = false; }, what);
}

void add_part(CLI::App* command, TracePart& part) {
  const auto add_time = [command](const char* name, std::optional<Nanos>& value, const char* what) {
    command
        ->add_option_function<std::string>(
            name,
            [name, &value](const std::string& text) {
              const Result<std::int64_t> parsed = parse_duration(text);
              if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
              value = *parsed;
            },
            what)
        ->type_name("TIME");
  };
  add_time("--from", part.from_ns,
           "Only what ended at or after this time since the trace's start: 90s");
  add_time("--to", part.to_ns, "Only what began at or before this time since the trace's start");
  add_time("--last", part.last_ns, "Only the last part of the trace, this long: 10s");
  command
      ->add_option_function<std::string>(
          "--steps",
          [&part](const std::string& text) {
            const auto parsed = parse_steps(text);
            if (!parsed) throw CLI::ValidationError("--steps", parsed.error().message);
            part.steps = *parsed;
          },
          "Only these steps: 40 or 40..49")
      ->type_name("A..B");
  add_repeatable(command, "--thread", "THREAD",
                 "Only this thread, by name or number, and the work that it launched. May be "
                 "repeated",
                 part.threads);
}

CLI::Option* add_format(CLI::App* command, Format& format) {
  return add_format_of(command, format,
                       "Output format: text (default), json or csv; the keys are stable",
                       {"text", "json", "csv"});
}

CLI::Option* add_text_or_json(CLI::App* command, Format& format) {
  return add_format_of(command, format,
                       "Output format: text (default) or json; the keys are stable",
                       {"text", "json"});
}

CLI::Option* add_page_format(CLI::App* command, std::string& format) {
  return command
      ->add_option(
          "--format", format,
          "Output format without -o: text (default), md, html or json; the keys are stable")
      ->check(CLI::IsMember({"text", "md", "json", "html"}))
      ->type_name("FORMAT")
      ->excludes(command->get_option("--output"));
}

void require(const Result<void>& checked) {
  if (!checked) throw CLI::ValidationError(checked.error().message);
}

}  // namespace sonde::cli
