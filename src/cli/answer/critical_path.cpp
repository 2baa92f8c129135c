// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde critical-path`: what the program's time consists of.

#include <algorithm>
#include <string>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/answers.h"
#include "cli/print/json_writer.h"
#include "cli/print/progress.h"
#include "sonde/analyse/critical_path.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kPathNameWidth = 60;

std::string path_share(Nanos part_ns, Nanos whole_ns) {
  if (whole_ns <= 0) return {};
  return format_text("{:.1f} %",
                     100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns));
}

std::string entry_name(const PathEntry& entry) {
  const std::string text =
      entry.name.empty() ? "(" + std::string(to_string(entry.kind)) + ")" : entry.name;
  return readable_line(first_whole(text, kPathNameWidth));
}

void write_path_text(const CriticalPath& path, const CriticalPathCommand& options, Output& out) {
  out.line(readable_line(options.file));
  if (path.entries.empty()) {
    out.line("  There are no spans, so there is no path.");
    return;
  }
  out.line(
      format_text("  The critical path: {} from the first span until the main thread and all "
                  "devices are done.",
                  duration_text(path.length_ns)));
  out.line(format_text("\n{:>13}{:>9}{:>10}{:>14}  {}", "time", "share", "times", "without it",
                       "What the path consists of"));
  std::size_t rows = path.entries.size();
  if (options.row_limit >= 0) rows = std::min(rows, static_cast<std::size_t>(options.row_limit));
  for (std::size_t i = 0; i < rows; ++i) {
    const PathEntry& entry = path.entries[i];
    const std::string where = entry.where.empty() ? "" : " on " + readable_line(entry.where);
    out.line(format_text("{:>13}{:>9}{:>10}{:>14}  {}{}", duration_text(entry.time_ns),
                         path_share(entry.time_ns, path.length_ns), count_text(entry.count),
                         entry.without_ns < 0 ? "" : duration_text(entry.without_ns),
                         entry_name(entry), where));
    if (!entry.next.empty())
      out.line(format_text("{:>46}  then first: {}", "",
                           readable_line(first_whole(entry.next, kPathNameWidth))));
  }
  if (rows < path.entries.size())
    out.line(format_text("  … and {} more (--row-limit -1 shows all)",
                         count_text(path.entries.size() - rows)));
  out.line(format_text("\n{:>13}{:>9}  On which thread or stream", "time", "share"));
  for (const auto& [name, time_ns] : path.by_thread)
    out.line(format_text("{:>13}{:>9}  {}", duration_text(time_ns),
                         path_share(time_ns, path.length_ns), readable_line(name)));
}

void write_path_json(const CriticalPath& path, const CriticalPathCommand& options, Output& out) {
  JsonWriter json(out);
  json.begin_object();
  json.key("trace").value(options.file);
  json.key("length_ns").value(path.length_ns);
  json.key("entries").begin_array();
  for (const PathEntry& entry : path.entries) {
    json.begin_object();
    json.key("kind").value(to_string(entry.kind));
    json.key("name").value(entry.name);
    json.key("where").value(entry.where);
    json.key("time_ns").value(entry.time_ns);
    json.key("count").value(entry.count);
    if (entry.without_ns >= 0) json.key("without_ns").value(entry.without_ns);
    if (!entry.next.empty()) json.key("next").value(entry.next);
    json.end_object();
  }
  json.end_array();
  json.key("threads").begin_array();
  for (const auto& [name, time_ns] : path.by_thread) {
    json.begin_object();
    json.key("name").value(name);
    json.key("time_ns").value(time_ns);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

Result<void> run_critical_path(const CriticalPathCommand& options, Output& out) {
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  return answer_critical_path(trace, options, out);
}

Result<void> answer_critical_path(const Trace& trace, const CriticalPathCommand& options,
                                  Output& out) {
  const CriticalPath path = [&] {
    const Progress progress("simulating " + options.file);
    return critical_path(trace);
  }();
  if (options.format == Format::Json) {
    write_path_json(path, options, out);
  } else {
    write_path_text(path, options, out);
  }
  return {};
}

}  // namespace sonde::cli
