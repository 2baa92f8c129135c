// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde export`: writes a trace in the format of the output's suffix.

#include "sonde/export.h"

#include <array>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "cli/answers.h"
#include "cli/job.h"
#include "cli/progress.h"
#include "cli/rows.h"
#include "sonde/analyse/events.h"

namespace sonde::cli {
namespace {

Result<StackMetric> metric_of(const ExportCommand& options) {
  return parse_stack_metric(options.metric.empty() ? "self_cpu_time_total" : options.metric);
}

Result<void> export_stacks(const Trace& trace, const ExportCommand& options) {
  SONDE_TRY(const StackMetric metric, metric_of(options));
  const std::string stacks = function_events(trace).collapsed_stacks(
      metric, options.each_event ? StackLines::EachEvent : StackLines::Summed);
  if (stacks.empty()) say(options.file + ": has no stacks; record them with `sonde run --stack`");
  return write_file_whole(options.output, stacks);
}

Result<void> export_rows(const Trace& trace, const ExportCommand& options) {
  const KeyAverages averages = function_events(trace).key_averages();
  TableOptions all;
  all.row_limit = -1;
  SONDE_TRY(const std::vector<std::size_t> order, averages.rows(all));
  Output text;
  write_rows_csv({averages, order, {}, false}, text);
  return write_file_whole(options.output, text.take());
}

using Exporter = Result<void> (*)(const Trace& trace, const ExportCommand& options);

struct Suffix {
  std::string_view text;
  Exporter write;
};

constexpr std::array<Suffix, 10> kSuffixes = {{
    {".json",
     [](const Trace& trace, const ExportCommand& options) {
       return export_chrome_trace(trace, options.output);
     }},
    {".json.gz",
     [](const Trace& trace, const ExportCommand& options) {
       return export_chrome_trace(trace, options.output);
     }},
    {".pftrace",
     [](const Trace& trace, const ExportCommand& options) {
       return export_perfetto(trace, options.output);
     }},
    {".stacks", export_stacks},
    {".stacks.txt", export_stacks},
    {".csv", export_rows},
    {".parquet",
     [](const Trace& trace, const ExportCommand& options) {
       return export_parquet(trace, options.output);
     }},
    {".sqlite", [](const Trace& trace,
                   const ExportCommand& options) { return export_sqlite(trace, options.output); }},
    {".pprof", [](const Trace& trace,
                  const ExportCommand& options) { return export_pprof(trace, options.output); }},
    {".sonde", [](const Trace& trace,
                  const ExportCommand& options) { return save_trace(trace, options.output); }},
}};

Result<const Suffix*> suffix_of(const std::string& output) {
  std::string known;
  for (const Suffix& suffix : kSuffixes) {
    if (output.size() > suffix.text.size() && output.ends_with(suffix.text)) return &suffix;
    known += known.empty() ? "" : ", ";
    known += suffix.text;
  }
  return Failure(ErrorCode::Invalid, output + ": Sonde cannot write a format with this suffix; " +
                                         "use one of: " + known);
}

}  // namespace

Result<void> check(const ExportCommand& options) {
  SONDE_TRY(const Suffix* const suffix, suffix_of(options.output));
  const Result<StackMetric> metric = metric_of(options);
  if (!metric) return Failure(metric.error());
  if (suffix->write == export_stacks) return {};
  if (options.each_event)
    return Failure(ErrorCode::Invalid, "--each-event only works with .stacks");
  if (options.metric.empty()) return {};
  return Failure(ErrorCode::Invalid, "--metric only works with .stacks");
}

Result<void> run_export(const ExportCommand& options, Output& /*out*/) {
  if (names_a_job(options.file)) return export_job(options);
  SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  return answer_export(trace, options);
}

Result<void> answer_export(const Trace& trace, const ExportCommand& options) {
  SONDE_TRY(const Suffix* const suffix, suffix_of(options.output));
  const Progress progress("writing " + options.output);
  return suffix->write(trace, options);
}

}  // namespace sonde::cli
