// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/read_kineto.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/json_string.h"
#include "base/parallel.h"
#include "base/text.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/assemble.h"
#include "convert/kineto/read/event_stager.h"
#include "convert/kineto/read/mended_texts.h"
#include "convert/kineto/read/stretches.h"

namespace sonde {

namespace {

class Document {
 public:
  Document(std::string_view text, std::string name, unsigned threads, std::vector<Reading> early)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        name_(std::move(name)),
        early_(std::move(early)) {
    threads_ = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  }

  Result<Trace> read(TraceBuilder builder) {
    const char* at = skip_space(begin_ + (starts_with_mark() ? 3 : 0));
    if (at < end_ && *at == '[') {
      at = read_events(at + 1);
      if (events_ == 0 && !is_empty_array()) {
        return Failure(
            ErrorCode::Invalid,
            name_ + ": not a trace, but a JSON array without events; " + looked_up_to(at));
      }
    } else if (at < end_ && *at == '{') {
      at = read_object(at);
      if (!has_events_) return no_events(at);
    } else {
      return Failure(ErrorCode::Invalid,
                     name_ + ": not a trace: expected JSON at byte " + std::to_string(at - begin_));
    }
    note_troubles(builder, at);
    assemble(builder, std::move(parts_), threads_);
    return std::move(builder).build();
  }

 private:
  bool starts_with_mark() const {
    return end_ - begin_ >= 3 && std::string_view(begin_, 3) == "\xEF\xBB\xBF";
  }
  std::string_view text() const { return {begin_, static_cast<std::size_t>(end_ - begin_)}; }
  std::uint64_t offset(const char* at) const { return static_cast<std::uint64_t>(at - begin_); }
  std::string looked_up_to(const char* at) const {
    return "searched up to byte " + std::to_string(offset(at));
  }
  bool is_empty_array() const {
    const std::vector<Staged>& stretches = parts_.stretches;
    return !truncated_at_ && std::all_of(stretches.begin(), stretches.end(), [](const Staged& s) {
      return s.troubles.broken_events == 0;
    });
  }

  Failure no_events(const char* at) const {
    if (truncated_at_) {
      return {ErrorCode::Corrupt, name_ + ": ends at byte " + std::to_string(offset(end_)) +
                                      ", before any \"traceEvents\""};
    }
    std::string keys;
    for (const RawMember& member : parts_.metadata) {
      if (member.key == "traceEvents") {
        return {ErrorCode::Invalid, name_ + ": \"traceEvents\" at byte " +
                                        std::to_string(offset(member.key.begin())) +
                                        " is not an array, so this is not a trace"};
      }
      if (keys.size() > 60) break;
      keys += keys.empty() ? " (it has " : ", ";
      keys += decode_json_string(member.key);
    }
    if (!keys.empty()) keys += ")";
    return {ErrorCode::Invalid, name_ + ": not a trace, but JSON without \"traceEvents\"" + keys +
                                    "; " + looked_up_to(at)};
  }

  // Returns the position after the object; the end of the text if the object is cut short.
  const char* read_object(const char* at) {
    at = skip_space(at + 1);
    while (at < end_ && *at == '"') {
      const char* after = read_member(at);
      if (after == nullptr) {
        after = skip_to_events(at);
        if (after == nullptr) return end_;
      }
      at = skip_space(after);
      if (*at == ',') at = skip_space(at + 1);
    }
    if (at < end_ && *at == '}') return at + 1;
    if (at >= end_) {
      truncated_at_ = end_;
    } else {
      note_broken(at);
    }
    return end_;
  }

  // Null if the member is broken.
  const char* read_member(const char* at) {
    const char* quote = string_end(at + 1, end_);
    if (quote == nullptr) return nullptr;
    const std::string_view key(at + 1, static_cast<std::size_t>(quote - at - 1));
    at = skip_space(quote + 1);
    if (*at != ':') return nullptr;
    at = skip_space(at + 1);
    if (key == "traceEvents" && *at == '[') {
      has_events_ = true;
      return read_events(at + 1);
    }
    const char* failed_at = nullptr;
    const char* after = value_end(at, end_, &failed_at);
    if (after == nullptr) return nullptr;
    const std::string_view value(at, static_cast<std::size_t>(after - at));
    if (key == "deviceProperties" && value.front() == '[' && parts_.devices.empty()) {
      parts_.devices = value;
    } else {
      parts_.metadata.push_back({key, value});
    }
    return after;
  }

  // Called when something before the events is broken. The events may still be readable.
  const char* skip_to_events(const char* at) {
    static constexpr std::string_view kKey = "\"traceEvents\"";
    const std::string_view rest(at, static_cast<std::size_t>(end_ - at));
    const std::size_t found = has_events_ ? std::string_view::npos : rest.find(kKey, 1);
    if (found == std::string_view::npos) {
      truncated_at_ = end_;
      return nullptr;
    }
    note_broken(at);
    return at + found;
  }

  void note_broken(const char* at) {
    if (broken_++ == 0) first_broken_ = offset(at);
  }

  // `at` is after the bracket. Returns the position after the array, or the end of the text.
  const char* read_events(const char* at) {
    at = skip_space(at);
    if (!early_.empty()) return join(at, std::exchange(early_, {}));
    const auto rest = static_cast<std::size_t>(end_ - at);
    // Two per thread keep all threads busy to the end. More would cost more, because every stretch
    // has to learn again what events look like.
    const std::size_t stretches = threads_ == 1 ? 1 : std::size_t{2} * threads_;
    const std::size_t stretch_bytes =
        std::clamp(rest / stretches, kShortestStretch, kLongestStretch);
    std::vector<const char*> starts = {at};
    for (std::size_t from = stretch_bytes; from < rest; from += stretch_bytes) {
      const char* guess = find_event(at + from, end_);
      if (guess < end_ && guess > starts.back()) starts.push_back(guess);
    }
    starts.push_back(end_);

    std::vector<Reading> readings(starts.size() - 1);
    const auto read = [&](std::size_t i) {
      readings[i] = read_stretch(text(), starts[i], starts[i + 1]);
    };
    parallel_for(readings.size(), read, threads_);
    return join(at, std::move(readings));
  }

  // Takes each stretch that begins where the one before ended. Reads again where none does, or
  // where a single reader would have stopped searching broken text. So the result does not depend
  // on where the text was cut.
  const char* join(const char* at, std::vector<Reading> readings) {
    const std::uint64_t most = most_scanned_again(text().size());
    std::uint64_t scanned = 0;
    std::size_t next = 0;
    for (;;) {
      while (next < readings.size() && readings[next].start < at) ++next;
      Reading reading;
      if (next < readings.size() && readings[next].start == at)
        reading = std::move(readings[next++]);
      if (reading.staged == nullptr || scanned + reading.stretch.scanned_again > most) {
        const char* const limit = next < readings.size() ? readings[next].start : end_;
        reading = read_stretch(text(), at, limit, scanned);
      }
      scanned += reading.stretch.scanned_again;
      events_ += reading.staged->events;
      parts_.stretches.push_back(std::move(*reading.staged));
      at = reading.stretch.at;
      if (reading.stretch.end == Stretch::End::Limit && at < end_) continue;
      if (reading.stretch.end != Stretch::End::Closed) truncated_at_ = end_;
      inside_event_ = reading.stretch.inside_event;
      return at;
    }
  }

  void note_troubles(TraceBuilder& builder, const char* at) {
    Troubles all;
    all.broken_events = broken_;
    all.first_broken = first_broken_;
    for (const Staged& stretch : parts_.stretches) add(all, stretch.troubles);
    const auto note = [&](LedgerKind kind, std::uint64_t count, const std::string& detail) {
      if (count > 0) builder.add_ledger(kind, count, name_, detail);
    };
    const auto first = [](std::uint64_t byte) {
      return "; the first at byte " + std::to_string(byte);
    };
    note(LedgerKind::Undecodable, all.broken_events,
         "broken JSON was left out" + first(all.first_broken));
    note(LedgerKind::Note, all.mended_events,
         counted_text(all.mended_events, "event") +
             " had unescaped quotes in strings, which were repaired" + first(all.first_mended));
    const MendedTexts mended = mended_texts(parts_, threads_);
    if (mended.count > 0) {
      note(LedgerKind::Note, mended.count,
           counted_text(mended.count, "text") +
               (mended.count == 1 ? " was not valid JSON and was repaired"
                                  : " were not valid JSON and were repaired") +
               first(offset(mended.first)));
    }
    note(LedgerKind::Undecodable, all.without_time,
         "events without a valid time" + first(all.first_without_time));
    note(LedgerKind::Undecodable, all.bad_durations,
         "durations that are negative or not numbers; read as no duration" +
             first(all.first_bad_duration));
    if (truncated_at_) {
      note(LedgerKind::Truncated, 1,
           "the text ends " + std::string(inside_event_ ? "inside an event" : "too soon") +
               ", at byte " + std::to_string(offset(end_)));
      return;
    }
    const char* rest = skip_space(at);
    if (rest < end_) {
      note(LedgerKind::DamagedBytes, offset(end_) - offset(rest),
           std::string(*rest == '{' || *rest == '[' ? "another document" : "something else") +
               " begins at byte " + std::to_string(offset(rest)) + " and was not read");
    }
  }

  static void add(Troubles& all, const Troubles& more) {
    if (all.broken_events == 0) all.first_broken = more.first_broken;
    if (all.mended_events == 0) all.first_mended = more.first_mended;
    if (all.without_time == 0) all.first_without_time = more.first_without_time;
    if (all.bad_durations == 0) all.first_bad_duration = more.first_bad_duration;
    all.broken_events += more.broken_events;
    all.mended_events += more.mended_events;
    all.without_time += more.without_time;
    all.bad_durations += more.bad_durations;
  }

  const char* begin_;
  const char* end_;
  std::string name_;
  std::vector<Reading> early_;
  unsigned threads_ = 1;
  KinetoParts parts_;
  std::uint64_t events_ = 0;
  bool has_events_ = false;
  bool inside_event_ = false;
  std::optional<const char*> truncated_at_;
  std::uint64_t broken_ = 0;
  std::uint64_t first_broken_ = 0;
};

}  // namespace

Result<Trace> read_kineto(std::string_view text, const std::string& name, TraceBuilder builder,
                          unsigned threads, std::vector<Reading> early) {
  return Document(text, name, threads, std::move(early)).read(std::move(builder));
}

}  // namespace sonde
