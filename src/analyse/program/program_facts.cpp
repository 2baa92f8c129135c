// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/program_facts.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "analyse/patterns/source_locations.h"
#include "base/format.h"
#include "base/json_walk.h"
#include "base/signals.h"
#include "base/text.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

constexpr std::size_t kMostLast = 4;

// The last value counts.
std::string_view metadata_of(const Trace& trace, std::string_view key) {
  const MetadataTable& table = trace.metadata();
  std::string_view value;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (trace.string(table.key[i]) == key) value = trace.string(table.value[i]);
  return value;
}

// A number of a JSON object; 0 if it is missing or negative.
std::int64_t number_in(std::string_view json, std::string_view wanted) {
  std::int64_t value = 0;
  JsonWalk walk(json);
  walk.object([&](std::string_view key) {
    const std::optional<std::int64_t> number =
        key == wanted ? walk.integer() : std::optional<std::int64_t>();
    if (number) value = std::max<std::int64_t>(*number, 0);
    return number || walk.skip();
  });
  return value;
}

// {"4711": [ran, waited], …}
std::vector<ProcessorTime::OfThread> threads_in(std::string_view json) {
  std::vector<ProcessorTime::OfThread> all;
  JsonWalk walk(json);
  const auto number = [&walk] { return std::max<std::int64_t>(walk.integer().value_or(0), 0); };
  walk.object([&](std::string_view key) {
    if (key != "by_thread") return walk.skip();
    return walk.object([&](std::string_view id) {
      std::vector<std::int64_t> values;
      if (!walk.array([&] {
            values.push_back(number());
            return true;
          }))
        return false;
      ProcessorTime::OfThread thread;
      const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), thread.id);
      if (error != std::errc() || end != id.data() + id.size() || values.size() < 2) return false;
      thread.ran_ns = values[0];
      thread.waited_ns = values[1];
      all.push_back(thread);
      return true;
    });
  });
  return all;
}

// Whether a session of Sonde made it: databases have windows too, but no clock of ours.
bool is_recording(const Trace& trace) {
  if (trace.windows().empty()) return false;
  for (std::size_t i = 0; i < trace.ledger().size(); ++i)
    if (trace.ledger().kind[i] == LedgerKind::ClockErrorNs ||
        trace.ledger().kind[i] == LedgerKind::EventsWritten)
      return true;
  return !metadata_of(trace, "command").empty();
}

// The innermost open operator of a thread, else the last one to end; a mark if there is none.
ProgramEnd::Last last_of(const Trace& trace, TrackId thread) {
  const SpanTable& spans = trace.spans();
  ProgramEnd::Last last;
  const auto is_later = [&](SpanId span) {
    if (!last.span.valid()) return true;
    const bool is_open = (spans.flags[span] & SpanFlags::kUnfinished) != 0;
    const bool is_op = is_operator(spans.kind[span]);
    const bool was_op = is_operator(spans.kind[last.span]);
    if (is_open != last.is_open) return is_open;
    if (is_op != was_op) return is_op;
    return is_open || trace.end_ns(span) > trace.end_ns(last.span);
  };
  for (const SpanId span : trace.track_spans(thread)) {
    if ((spans.flags[span] & SpanFlags::kAsync) != 0 || spans.kind[span] == SpanKind::Step)
      continue;
    if (!is_later(span)) continue;
    last.span = span;
    last.is_open = (spans.flags[span] & SpanFlags::kUnfinished) != 0;
  }
  return last;
}

std::vector<ProgramEnd::Last> last_of_threads(const Trace& trace) {
  std::vector<ProgramEnd::Last> all;
  for (std::size_t row = 0; row < trace.tracks().size(); ++row) {
    if (trace.tracks().kind[row] != TrackKind::Thread) continue;
    ProgramEnd::Last last = last_of(trace, TrackId(row));
    if (!last.span.valid()) continue;
    last.before_ns =
        last.is_open ? 0 : std::max<Nanos>(trace.last_ns() - trace.end_ns(last.span), 0);
    all.push_back(last);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.before_ns < b.before_ns; });
  if (all.size() > kMostLast) all.resize(kMostLast);
  return all;
}

std::string how_text(const ProgramEnd& end) {
  if (end.signal != 0) {
    const char* const words = ::strsignal(end.signal);
    return format_text("The program was killed by SIG{}{}.", signal_text(end.signal),
                       words != nullptr ? " (" + std::string(words) + ")" : "");
  }
  if (end.status != 0) return format_text("The program ended with exit status {}.", end.status);
  return "The recording has no end: the program was killed, crashed or still runs, or the file was "
         "cut.";
}

bool has_reason(std::string_view json, std::string_view reason) {
  return json.find("\"reason\": \"" + std::string(reason) + "\"") != std::string_view::npos;
}

// Why a ring was written, from the metadata "dump".
std::string dump_text(std::string_view json) {
  if (has_reason(json, "slow-step")) {
    const std::int64_t took = number_in(json, "took_ns");
    const std::int64_t usual = std::max<std::int64_t>(number_in(json, "usual_ns"), 1);
    return format_text("step {} took {}, {:.1f} times the usual {}", number_in(json, "step"),
                       duration_text(took), static_cast<double>(took) / static_cast<double>(usual),
                       duration_text(usual));
  }
  if (has_reason(json, "hang"))
    return format_text("step {} had not ended after {}", number_in(json, "step"),
                       duration_text(number_in(json, "since_ns")));
  if (has_reason(json, "signal"))
    return format_text(
        "signal {} asked for it",
        signal_text(static_cast<int>(std::min<std::int64_t>(number_in(json, "signal"), 128))));
  if (has_reason(json, "crash")) return "the program crashed or was killed";
  return "the program did not end well";
}

std::string last_text(const Trace& trace, detail::SourceLocations& places,
                      const ProgramEnd::Last& last) {
  const TrackId track = trace.spans().track[last.span];
  const std::string_view name = trace.string(trace.tracks().name[track]);
  const std::string place = places.of(last.span);
  std::string text = without_addresses(trace.name(last.span));
  if (!place.empty()) text += " at " + place;
  text += last.is_open
              ? ", which had not ended"
              : format_text(", which ended {} before the end", duration_text(last.before_ns));
  return text + format_text(" (thread {}{})", trace.tracks().id[track],
                            name.empty() ? "" : ", " + std::string(name));
}

}  // namespace

ProgramEnd program_end_of(std::string_view ended_json, std::string_view dump_json) {
  ProgramEnd end;
  const auto small = [&](std::string_view key, std::int64_t most) {
    return static_cast<int>(std::min(number_in(ended_json, key), most));
  };
  end.signal = small("signal", 128);
  end.status = small("status", 255);
  if (!dump_json.empty()) end.dumped_because = dump_text(dump_json);
  return end;
}

ProgramEnd program_end(const Trace& trace) {
  ProgramEnd end =
      program_end_of(metadata_of(trace, kProgramEndedKey), metadata_of(trace, kDumpKey));
  // A file of another format may have been cut by whoever copied it.
  for (std::size_t i = 0; i < trace.ledger().size(); ++i)
    end.is_cut_short |= trace.ledger().kind[i] == LedgerKind::Truncated && is_recording(trace);
  if (end.was_interrupted()) end.last = last_of_threads(trace);
  return end;
}

ProgramEnd program_end_with_last(const Trace& trace) {
  ProgramEnd end = program_end(trace);
  if (end.is_bad() && end.last.empty()) end.last = last_of_threads(trace);
  return end;
}

std::vector<std::string> sentences(const Trace& trace, const ProgramEnd& end) {
  std::vector<std::string> lines;
  if (!end.dumped_because.empty())
    lines.push_back(format_text("The ring was written because {}. It has the last {}.",
                                end.dumped_because,
                                duration_text(trace.last_ns() - trace.first_ns())));
  if (!end.is_bad()) return lines;
  lines.push_back(how_text(end));
  if (end.last.empty()) return lines;
  detail::SourceLocations places(trace);
  // A program that ends with a status by itself is not somewhere when it does.
  if (end.signal == 0 && !end.is_cut_short) {
    lines.push_back("The last that was recorded: " + last_text(trace, places, end.last.front()) +
                    ".");
    return lines;
  }
  std::string text = "What it did last: ";
  for (std::size_t i = 0; i < end.last.size(); ++i)
    text += (i > 0 ? "; " : "") + last_text(trace, places, end.last[i]);
  lines.push_back(text + ".");
  return lines;
}

ProcessorTime processor_time(const Trace& trace) {
  const std::string_view json = metadata_of(trace, kProcessorTimeKey);
  // Of threads that ended between two looks nobody knows how long they waited.
  const std::int64_t seen_ns = number_in(json, "ran_ns");
  if (number_in(json, "process_ns") / 10 * 8 > seen_ns) return {};
  return {.cores = number_in(json, "cores"),
          .wall_ns = number_in(json, "wall_ns"),
          .ran_ns = number_in(json, "ran_ns"),
          .waited_ns = number_in(json, "waited_ns"),
          .threads = number_in(json, "threads"),
          .by_thread = threads_in(json)};
}

}  // namespace sonde
