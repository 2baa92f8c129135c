// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde info` as text. What was lost comes before what is there.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "cli/answer/info_report.h"
#include "cli/print/text_lines.h"
#include "sonde/analyse/program_facts.h"

namespace sonde::cli {
namespace {

// The text shows only part of long lists and says so; JSON has everything.
constexpr std::size_t kMostInfoRows = 24;
constexpr std::size_t kMostDetails = 3;
constexpr std::size_t kLongestValue = 96;

std::string name_or(std::string_view name, std::string_view otherwise) {
  return readable_line(name.empty() ? otherwise : name);
}

class InfoText : TextLines {
 public:
  InfoText(const InfoReport& report, Output& out)
      : TextLines(out, kMostInfoRows, "--format json"),
        report_(report),
        file_(report.file),
        trace_(report.file.trace),
        facts_(report.facts) {}

  void write() {
    head();
    ending();
    losses();
    processes();
    tracks();
    spans();
    windows();
    metadata();
    cost();
    remarks();
  }

 private:
  std::string format() const {
    switch (file_.format) {
      case FileFormat::Sonde:
        return format_text("format version {}", file_.version.value_or(0));
      case FileFormat::Database:
        return "an SQLite database";
      case FileFormat::Snapshot:
        return "a snapshot of PyTorch's allocator";
      case FileFormat::Json:
        break;
    }
    return "a JSON trace";
  }

  void head() {
    line("{}", readable_line(report_.path));
    line("  size      {}, {}, {}", bytes_text(file_.bytes), format(),
         report_.complete ? "complete"
         : file_.version  ? "recovered: truncated, damaged, or still being recorded"
                          : "recovered: truncated or damaged");
    constexpr Nanos kYearNs = Nanos{365} * 86'400 * 1'000'000'000;
    if (trace_.last_ns() > trace_.first_ns() && trace_.first_ns() < kYearNs) {
      line("  recorded  for {}; the date is not known",
           duration_text(trace_.last_ns() - trace_.first_ns()));
    } else if (trace_.last_ns() > trace_.first_ns()) {
      line("  recorded  {}, for {}", utc_text(trace_.first_ns()),
           duration_text(trace_.last_ns() - trace_.first_ns()));
    } else {
      line("  recorded  nothing");
    }
  }

  // How the program ended, if not well; the processor that it got.
  void ending() {
    const ProgramEnd end = program_end(trace_);
    bool is_dump = !end.dumped_because.empty();
    for (const std::string& one : sentences(trace_, end))
      line("  {}    {}", std::exchange(is_dump, false) ? "dumped" : "ended ", readable_line(one));
    const ProcessorTime time = processor_time(trace_);
    if (!time.is_known()) return;
    line("  threads   ran for {} in total, waited {} for a core; {} to run on",
         duration_text(time.ran_ns), duration_text(time.waited_ns),
         counted_text(static_cast<std::uint64_t>(time.cores), "core"));
  }

  void ledger_lines(LedgerClass wanted, std::string_view mark) {
    for (const auto& [kind, total] : facts_.ledger) {
      if (ledger_class(kind) != wanted || total.count == 0) continue;
      const std::string text =
          format_text("{}{}: {}", mark, ledger_phrase(kind), count_text(total.count));
      const bool is_sentence = kind == LedgerKind::Note && !total.details.empty();
      if (is_sentence) {
        // Its details say all.
      } else if (wanted == LedgerClass::Lost) {
        out_.styled_line(Output::Style::Warning, text);
      } else {
        out_.line(text);
      }
      const std::size_t shown = std::min(total.details.size(), kMostDetails);
      for (std::size_t i = 0; i < shown; ++i)
        line("{}{}", is_sentence ? mark : "            ",
             readable_start(total.details[i], kLongestValue));
      if (total.details.size() > shown) {
        line("            … and {} more", count_text(total.details.size() - shown));
      }
    }
  }

  void losses() {
    out_.line("");
    const bool is_whole = is_whole_but_for_open_spans();
    if (is_whole) out_.line("Nothing was lost.");
    if (is_whole && facts_.has(LedgerClass::Incomplete)) {
      line("Spans that were still open at the end: {}.",
           count_text(count_of(facts_.ledger, LedgerKind::Unfinished)));
      return;
    }
    ledger_lines(LedgerClass::Lost, "LOST        ");
    ledger_lines(LedgerClass::Incomplete, "INCOMPLETE  ");
  }

  // Something is always open when a recording ends.
  bool is_whole_but_for_open_spans() const {
    return std::none_of(facts_.ledger.begin(), facts_.ledger.end(), [](const auto& entry) {
      const LedgerClass of = ledger_class(entry.first);
      return entry.second.count > 0 && entry.first != LedgerKind::Unfinished &&
             (of == LedgerClass::Lost || of == LedgerClass::Incomplete);
    });
  }

  void processes() {
    const ProcessTable& table = trace_.processes();
    line("\nProcesses  {}", count_text(table.size()));
    rows(table.size(), [&](std::size_t i) {
      std::string text = format_text("  pid {}", table.pid[i]);
      if (table.rank[i] >= 0) text += format_text("  rank {}", table.rank[i]);
      if (table.world_size[i] >= 0) text += format_text(" of {}", table.world_size[i]);
      for (const StringId part : {table.host[i], table.name[i]}) {
        if (!trace_.string(part).empty()) text += "  " + readable_line(trace_.string(part));
      }
      out_.line(text);
    });
  }

  void tracks() {
    const TrackTable& table = trace_.tracks();
    line("Tracks     {}, with their numbers of spans", count_text(table.size()));
    rows(table.size(), [&](std::size_t i) {
      line("  {} {:<8} {:<24} {:>12}", to_string(table.kind[i]), table.id[i],
           name_or(trace_.string(table.name[i]), "-"), count_text(facts_.counts.spans_of_track[i]));
    });
  }

  void spans() {
    const TraceCounts& counts = facts_.counts;
    line("Spans      {}", count_text(counts.spans));
    for (const auto& [kind, count] : counts.spans_by_kind) {
      line("  {:<24} {:>12}", to_string(kind), count_text(count));
    }
    if (const StepCounts& steps = counts.steps; steps.count > 0) {
      line("Steps      {}, number {} to {}, {} on average", count_text(steps.count), steps.first,
           steps.last, duration_text(steps.total_ns / static_cast<Nanos>(steps.count)));
    }
    const std::pair<std::string_view, std::uint64_t> others[] = {
        {"Instants", counts.instants},
        {"Counters", counts.counters},
        {"Flows", counts.flows.value_or(0)},
        {"Allocations", counts.allocations}};
    for (const auto& [name, count] : others) {
      if (count > 0) line("{:<10} {}", name, count_text(count));
    }
  }

  void windows() {
    const WindowTable& table = trace_.windows();
    if (table.empty()) return;
    line("Windows    {}", count_text(table.size()));
    rows(table.size(), [&](std::size_t i) {
      std::string text = format_text("  {:>12} after the start, for {:>12}",
                                     duration_text(table.start_ns[i] - trace_.first_ns()),
                                     duration_text(table.end_ns[i] - table.start_ns[i]));
      if (table.first_step[i] >= 0) text += format_text(", from step {}", table.first_step[i]);
      out_.line(text);
    });
  }

  void metadata() {
    const MetadataTable& table = trace_.metadata();
    if (table.empty()) return;
    line("Metadata   {}", count_text(table.size()));
    rows(table.size(), [&](std::size_t i) {
      line("  {:<24} {}", readable_line(trace_.string(table.key[i])),
           readable_start(trace_.string(table.value[i]), kLongestValue));
    });
  }

  void cost() {
    if (!facts_.has(LedgerClass::Cost)) return;
    out_.line("\nWhat recording cost");
    const LedgerTotals& ledger = facts_.ledger;
    const std::uint64_t events = count_of(ledger, LedgerKind::EventsWritten);
    line("  {} written", counted_text(events, "event"));
    const RecordingCost recorded = recording_cost(trace_);
    for (const RecordingCost::Path& path : recorded.paths)
      line("  {}: {}, about {:.0f} ns each", path.what, count_text(path.count), path.each_ns);
    if (recorded.total_ns > 0)
      line("  about {} in total across the recorded threads", duration_text(recorded.total_ns));
    if (const std::uint64_t drainer = count_of(ledger, LedgerKind::DrainerNs); drainer > 0) {
      line("  {} of CPU time to write the file, on a separate thread",
           duration_text(static_cast<Nanos>(drainer)));
    }
    if (const std::uint64_t error = count_of(ledger, LedgerKind::ClockErrorNs); error > 0) {
      line("  times may be off by {}", duration_text(static_cast<Nanos>(error)));
    }
  }

  void remarks() {
    if (!facts_.has(LedgerClass::Remark)) return;
    out_.line("\nRemarks");
    ledger_lines(LedgerClass::Remark, "  ");
  }

  const InfoReport& report_;
  const OpenedFile& file_;
  const Trace& trace_;
  const TraceFacts& facts_;
};

}  // namespace

void write_info_text(const InfoReport& report, Output& out) {
  InfoText(report, out).write();
}

}  // namespace sonde::cli
