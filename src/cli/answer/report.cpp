// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde report`: what could be faster.

#include "cli/answer/report.h"

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/answers.h"
#include "cli/print/progress.h"
#include "sonde/view/trace_page.h"

namespace sonde::cli {
namespace {

// The format of the file's suffix, or --format if there is no file.
Result<std::string> format_of(const ReportCommand& options) {
  if (options.output.empty()) return options.format;
  for (const auto& [suffix, format] : {std::pair(".html", "html"), std::pair(".md", "md"),
                                       std::pair(".json", "json"), std::pair(".txt", "text")})
    if (options.output.ends_with(suffix)) return std::string(format);
  return Failure(ErrorCode::Invalid,
                 options.output + ": the name of a report must end in .html, .md, .json or .txt");
}

void write_report(const Report& report, const ReportCommand& options, const std::string& format,
                  Output& out) {
  if (format == "md") {
    write_report_markdown(report, options.file, out);
  } else if (format == "json") {
    write_report_json(report, options.file, out);
  } else {
    write_report_text(report, options.file, out);
  }
}

Report report_with_progress(const Trace& trace, const std::string& file) {
  const Progress progress("looking at " + file);
  return report(trace);
}

Result<void> write_report_page(const Trace& trace, const ReportCommand& options, Output& out) {
  const Progress progress("writing the page of " + options.file);
  TracePageOptions wanted;
  wanted.at = "view=overview";
  if (!options.output.empty()) return save_trace_page(trace, options.output, options.file, wanted);
  SONDE_TRY(const std::string page, trace_page(trace, options.file, wanted));
  out.for_programs();
  out.write(page);
  return {};
}

}  // namespace

std::vector<std::string> trust_lines(const Report& report) {
  std::vector<std::string> lines;
  lines.emplace_back(report.is_whole() ? "Nothing was lost." : "This trace is incomplete:");
  for (const auto& [kind, total] : report.ledger) {
    const LedgerClass of = ledger_class(kind);
    if (total.count == 0 || (of != LedgerClass::Lost && of != LedgerClass::Incomplete)) continue;
    if (kind == LedgerKind::Unfinished && report.is_whole()) {
      lines.push_back(
          format_text("Spans that were still open at the end: {}.", count_text(total.count)));
      continue;
    }
    lines.push_back(format_text("{}: {}", ledger_phrase(kind), count_text(total.count)));
  }
  if (report.recording_ns > 0) {
    const Nanos length_ns = report.trace.last_ns() - report.trace.first_ns();
    lines.push_back(format_text(
        "Recording cost the recorded threads about {}, {:.1f} % of the time.",
        duration_text(report.recording_ns),
        100.0 * static_cast<double>(report.recording_ns) / static_cast<double>(length_ns)));
  }
  return lines;
}

std::string example_text(const Report& report, SpanId span) {
  const Trace& trace = report.trace;
  return format_text("{}, {} at {}", trace.name(span),
                     duration_text(trace.spans().duration_ns[span]),
                     duration_text(trace.spans().start_ns[span] - trace.first_ns()));
}

Result<void> check(const ReportCommand& options) {
  const Result<std::string> format = format_of(options);
  return format ? Result<void>() : Failure(format.error());
}

Result<void> run_report(const ReportCommand& options, Output& out) {
  SONDE_TRY_VOID(not_onto_itself(options.file, options.output));
  SONDE_TRY(const Trace trace, open_with_progress(options.file, options.open));
  return answer_report(trace, options, out);
}

Result<void> answer_report(const Trace& trace, const ReportCommand& options, Output& out) {
  SONDE_TRY(const std::string format, format_of(options));
  if (format == "html") return write_report_page(trace, options, out);
  const Report found = report_with_progress(trace, options.file);
  if (options.output.empty()) {
    write_report(found, options, format, out);
    return {};
  }
  Output text;
  write_report(found, options, format, text);
  return write_file_whole(options.output, text.take());
}

}  // namespace sonde::cli
