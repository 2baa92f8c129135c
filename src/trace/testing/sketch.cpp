// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/testing/sketch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sonde/trace/builder.h"
#include "trace/dump.h"

namespace sonde::testing {

namespace {

constexpr Nanos kColumnNs = 1000;

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// 7 for "stream7" if `prefix` is "stream".
std::optional<std::int32_t> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::int32_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

class Sketch {
 public:
  Result<Trace> parse(std::string_view drawing) {
    for (std::string_view line : split(drawing, "\n")) {
      line = line.substr(0, line.find('#'));
      const auto words = split(line, " \t\r");
      if (words.empty()) continue;
      if (words.size() != 2) {
        return Failure(
            ErrorCode::Invalid,
            "sketch: a row is a label and a drawing, but there is \"" + std::string(line) + "\"");
      }
      SONDE_TRY(const TrackId track, track_of(words[0]));
      SONDE_TRY_VOID(add_row(track, words[0], words[1]));
    }
    return std::move(builder_).build();
  }

 private:
  ProcessId process_of(std::int32_t number, bool is_rank) {
    const auto [found, is_new] = processes_.try_emplace(number);
    if (is_new) {
      ProcessRow row;
      row.pid = number;
      if (is_rank) row.rank = number;
      found->second = builder_.processes().push_back(row);
    }
    return found->second;
  }

  static Failure not_understood(std::string_view label) {
    return {ErrorCode::Invalid,
            "sketch: the label \"" + std::string(label) + "\" is not understood"};
  }

  Result<TrackId> track_of(std::string_view label) {
    const auto known = tracks_.find(label);
    if (known != tracks_.end()) return known->second;
    auto parts = split(label, "/");
    if (parts.empty()) return not_understood(label);
    TrackRow row;
    const auto process = number_after(parts[0], "proc");
    const auto rank = number_after(parts[0], "rank");
    row.process = process_of(process.value_or(rank.value_or(0)), rank.has_value());
    if (process || rank) parts.erase(parts.begin());
    if (!fill_track(row, parts)) return not_understood(label);
    const TrackId track = builder_.tracks().push_back(row);
    tracks_.emplace(label, track);
    return track;
  }

  bool fill_track(TrackRow& row, const std::vector<std::string_view>& parts) {
    if (parts.size() == 1) {
      row.kind = TrackKind::Thread;
      row.id = number_after(parts[0], "thread").value_or(0);
      row.name = builder_.intern(parts[0]);
      return true;
    }
    if (parts.size() != 2) return false;
    const auto device = number_after(parts[0], "gpu");
    const auto stream = number_after(parts[1], "stream");
    if (!device || !stream) return false;
    row.kind = TrackKind::Stream;
    row.id = *stream;
    row.device_index = *device;
    row.name = builder_.intern(parts[1]);
    return true;
  }

  Result<void> add_row(TrackId track, std::string_view label, std::string_view drawing) {
    for (std::size_t at = 0; at < drawing.size();) {
      const char letter = drawing[at];
      if (letter == '.') {
        ++at;
        continue;
      }
      const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                             (letter >= '0' && letter <= '9');
      if (!is_letter) {
        return Failure(ErrorCode::Invalid, "sketch: row \"" + std::string(label) + "\" has '" +
                                               letter + "' in column " + std::to_string(at) +
                                               ", where a letter, a digit or a dot should be");
      }
      std::size_t end = at;
      while (end < drawing.size() && drawing[end] == letter) ++end;
      const bool is_unfinished = end < drawing.size() && drawing[end] == '>';
      if (is_unfinished) ++end;
      add_span(track, letter, at, end, is_unfinished);
      at = end;
    }
    return {};
  }

  void add_span(TrackId track, char letter, std::size_t begin, std::size_t end,
                bool is_unfinished) {
    const bool is_stream = builder_.tracks().kind[track] == TrackKind::Stream;
    SpanRow row;
    row.start_ns = static_cast<Nanos>(begin) * kColumnNs;
    row.duration_ns = static_cast<Nanos>(end - begin) * kColumnNs;
    row.name = builder_.intern(std::string_view(&letter, 1));
    row.track = track;
    row.kind = is_stream ? SpanKind::Kernel : SpanKind::Scope;
    if (is_unfinished) row.flags = SpanFlags::kUnfinished;
    builder_.spans().push_back(row);
  }

  TraceBuilder builder_;
  std::map<std::int32_t, ProcessId> processes_;
  std::map<std::string, TrackId, std::less<>> tracks_;
};

}  // namespace

Result<Trace> parse_sketch(std::string_view drawing) {
  return Sketch().parse(drawing);
}

Trace sketch(std::string_view drawing) {
  Result<Trace> trace = parse_sketch(drawing);
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.error().message.c_str());
    std::abort();
  }
  return *std::move(trace);
}

std::string trace_text(const Trace& trace) {
  return dump_text(trace);
}

}  // namespace sonde::testing
