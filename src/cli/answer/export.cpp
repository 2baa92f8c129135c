// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde export`: writes a trace in the format of the output's suffix.

#include "sonde/export.h"

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.h"
#include "cli/answers.h"
#include "cli/job/job.h"
#include "cli/print/progress.h"
#include "cli/print/rows.h"
#include "sonde/analyse/events.h"
#include "sonde/analyse/host_time.h"
#include "sonde/view/flame_graph.h"

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

Result<void> export_flame_graph(const Trace& trace, const ExportCommand& options) {
  SONDE_TRY(const StackMetric metric, metric_of(options));
  const bool is_device = metric == StackMetric::SelfDeviceTime;
  const std::string picture =
      flame_graph_svg(is_device ? device_flame(trace) : host_time(trace).flame,
                      options.file + (is_device ? ", time on devices" : ", time on the host"));
  if (picture.empty())
    return Failure(ErrorCode::Invalid, options.file + (is_device ? ": has no work on devices"
                                                                 : ": has no spans on the host"));
  return write_file_whole(options.output, picture);
}

// rank=3 if every trace has a rank of its own, else the names of the files.
std::vector<std::string> part_names(const std::vector<std::string>& files,
                                    const std::vector<std::int64_t>& ranks) {
  const std::set<std::int64_t> distinct(ranks.begin(), ranks.end());
  const bool by_rank = distinct.size() == files.size() && *distinct.begin() >= 0;
  std::vector<std::string> names;
  names.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    names.push_back(by_rank ? "rank=" + std::to_string(ranks[i])
                            : "file=" + std::filesystem::path(files[i]).filename().string());
  return names;
}

Result<void> export_several(const ExportCommand& options) {
  std::vector<std::string> files = {options.file};
  files.insert(files.end(), options.others.begin(), options.others.end());
  std::vector<std::int64_t> ranks;
  for (const std::string& file : files) {
    SONDE_TRY(const Trace trace, open_to_answer(file, options.open));
    ranks.push_back(trace.processes().size() == 0 ? -1 : trace.processes().rank[std::size_t{0}]);
  }
  const Progress progress("writing " + options.output);
  return export_parquet_parts(
      part_names(files, ranks),
      [&](std::size_t i) { return open_to_answer(files[i], options.open); }, options.output);
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

constexpr std::array<Suffix, 12> kSuffixes = {{
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
    {".svg", export_flame_graph},
    {".csv", export_rows},
    {".parquet",
     [](const Trace& trace, const ExportCommand& options) {
       return export_parquet(trace, options.output);
     }},
    {".arrow", [](const Trace& trace,
                  const ExportCommand& options) { return export_arrow(trace, options.output); }},
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
  if (!options.others.empty() && suffix->text != ".parquet")
    return Failure(ErrorCode::Invalid, "several traces only work with .parquet");
  if (suffix->write == export_stacks) return {};
  if (suffix->write == export_flame_graph && !options.each_event) return {};
  if (options.each_event)
    return Failure(ErrorCode::Invalid, "--each-event only works with .stacks");
  if (options.metric.empty()) return {};
  return Failure(ErrorCode::Invalid, "--metric only works with .stacks and .svg");
}

Result<void> run_export(const ExportCommand& options, Output& /*out*/) {
  if (names_a_job(options.file)) return export_job(options);
  SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
  if (!options.others.empty()) return export_several(options);
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  return answer_export(trace, options);
}

Result<void> answer_export(const Trace& trace, const ExportCommand& options) {
  SONDE_TRY(const Suffix* const suffix, suffix_of(options.output));
  const Progress progress("writing " + options.output);
  return suffix->write(trace, options);
}

}  // namespace sonde::cli
