// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include "base/readable.h"

namespace sonde {

namespace {

// Deeper spans are not indented further; their depth is printed instead.
constexpr std::size_t kMaxIndent = 40;

// Escapes quotes, which would end the text early.
void append_printable(std::string& out, std::string_view text) {
  std::string quotable;
  for (const char c : text) {
    if (c == '"' || c == '\\') quotable += '\\';
    quotable += c;
  }
  out += readable_line(quotable);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_printable(out, text);
  out += '"';
}

// "1234.567 µs"
void append_micros(std::string& out, Nanos nanos) {
  const std::uint64_t size =
      nanos < 0 ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
  const std::string fraction = std::to_string(1000 + size % 1000);
  if (nanos < 0) out += '-';
  out += std::to_string(size / 1000) + '.' + fraction.substr(1) + " µs";
}

void append_digits(std::string& out, auto value) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out.append(text.data(), end);
}

// Columns that hold a time on the trace's clock.
bool is_time(std::string_view column) {
  constexpr std::array<std::string_view, 5> kTimes = {"time_ns", "start_ns", "end_ns", "from_ns",
                                                      "to_ns"};
  return std::find(kTimes.begin(), kTimes.end(), column) != kTimes.end();
}

class Dump {
 public:
  Dump(const Trace& trace, const LineSink& sink) : trace_(trace), sink_(sink) {}

  void run() {
    write_extent();
    write_processes();
    for (std::size_t track = 0; track < trace_.tracks().size() && going_; ++track) {
      write_track(track);
    }
    write_trackless();
    trace_.tables().visit_tables([this](std::string_view name, const auto& table) {
      const bool is_shown = name == "processes" || name == "tracks" || name == "spans";
      if (!is_shown && !table.empty()) write_table(name, table);
    });
  }

 private:
  void flush() {
    if (going_) going_ = sink_(line_);
    line_.clear();
  }

  void write_extent() {
    line_ = "trace of ";
    append_micros(line_, trace_.last_ns() - trace_.first_ns());
    line_ += ", " + std::to_string(trace_.spans().size()) + " spans";
    flush();
  }

  void write_processes() {
    for (std::size_t i = 0; i < trace_.processes().size() && going_; ++i) {
      line_ = "process " + std::to_string(i) + ":";
      append_row(trace_.processes(), i);
      flush();
    }
  }

  void write_track(std::size_t track) {
    line_ = "track " + std::to_string(track) + ":";
    append_row(trace_.tracks(), track);
    flush();
    write_spans(trace_.track_spans(TrackId(track)));
  }

  void write_trackless() {
    const IdRange<SpanId> spans = trace_.track_spans(TrackId());
    if (spans.empty() || !going_) return;
    line_ = "no track:";
    flush();
    write_spans(spans);
  }

  void write_spans(IdRange<SpanId> range) {
    path_.clear();
    for (std::size_t i = 0; i < range.size() && going_; ++i) write_span(range[i]);
  }

  void write_span(SpanId span) {
    const std::size_t depth = depth_of(span);
    line_.assign(2 * (1 + std::min(depth, kMaxIndent)), ' ');
    if (depth > kMaxIndent) line_ += "(depth " + std::to_string(depth) + ") ";
    append_micros(line_, trace_.spans().start_ns[span] - trace_.first_ns());
    line_ += " +";
    append_micros(line_, trace_.spans().duration_ns[span]);
    line_ += ' ';
    append_printable(line_, trace_.name(span));
    if (const SpanKind kind = trace_.spans().kind[span]; kind != SpanKind::Scope) {
      line_ += " [";
      line_ += to_string(kind);
      line_ += ']';
    }
    if (const std::uint16_t flags = trace_.spans().flags[span]; flags != 0) {
      line_ += " {" + span_flags_text(flags) + "}";
    }
    append_rest_of_span(span);
    flush();
  }

  // The number of ancestors: those on the path to the last span written, or, for parents on other
  // tracks, as many as a short walk finds.
  std::size_t depth_of(SpanId span) {
    const SpanId parent = trace_.spans().parent[span];
    while (!path_.empty() && path_.back() != parent) path_.pop_back();
    std::size_t depth = path_.size();
    if (path_.empty()) {
      for (SpanId at = parent; at.valid() && depth < kMaxIndent; at = trace_.spans().parent[at]) {
        path_.push_back(at);
        ++depth;
      }
      std::reverse(path_.begin(), path_.end());
    }
    path_.push_back(span);
    return depth;
  }

  void append_rest_of_span(SpanId span) {
    trace_.spans().visit_columns([&](std::string_view name, const auto& column) {
      constexpr std::array<std::string_view, 7> kShown = {
          "start_ns", "duration_ns", "name", "track", "parent", "kind", "flags"};
      if (std::find(kShown.begin(), kShown.end(), name) != kShown.end()) return;
      if (column.materialised()) append_field(name, column, span.index(), false);
    });
  }

  void write_table(std::string_view name, const auto& table) {
    if (!going_) return;
    line_ = std::string(name) + " (" + std::to_string(table.size()) + "):";
    flush();
    for (std::size_t i = 0; i < table.size() && going_; ++i) {
      line_ = " ";
      append_row(table, i);
      flush();
    }
  }

  // Appends every value that is not null, and always a time that says when something happened.
  void append_row(const auto& table, std::size_t row) {
    using Table = std::remove_cvref_t<decltype(table)>;
    constexpr bool kTimesCount =
        Table::kTable != TableKind::Processes && Table::kTable != TableKind::Flows;
    table.visit_columns([&](std::string_view name, const auto& column) {
      append_field(name, column, row, kTimesCount && is_time(name));
    });
  }

  template <typename T>
  void append_field(std::string_view name, const Column<T>& column, std::size_t row, bool always) {
    const T value = column[row];
    if (!always && column.is_null_at(row)) return;
    line_ += ' ';
    line_ += name;
    line_ += '=';
    if constexpr (std::is_same_v<T, StringId>) {
      append_quoted(line_, trace_.string(value));
    } else if constexpr (IsId<T>::value) {
      append_digits(line_, value.value());
    } else if constexpr (std::is_enum_v<T>) {
      line_ += to_string(value);
    } else if constexpr (std::is_same_v<T, Nanos>) {
      if (is_time(name)) {
        append_micros(line_, value - trace_.first_ns());
      } else {
        append_digits(line_, value);
      }
    } else {
      append_digits(line_, value);
    }
  }

  const Trace& trace_;
  const LineSink& sink_;
  bool going_ = true;
  std::string line_;
  std::vector<SpanId> path_;
};

}  // namespace

void dump_text(const Trace& trace, const LineSink& sink) {
  Dump(trace, sink).run();
}

std::string dump_text(const Trace& trace) {
  std::string text;
  dump_text(trace, [&text](std::string_view line) {
    text += line;
    text += '\n';
    return true;
  });
  return text;
}

}  // namespace sonde
