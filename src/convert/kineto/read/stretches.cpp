// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/stretches.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "convert/json/json_text.h"

namespace sonde {

namespace {

// More than when the whole text is available: readers should not wait long for the first part, nor
// have much left to do after the last.
constexpr std::size_t kPartsPerThread = 4;

// The first event, if the text begins as traces usually do.
const char* first_event(const char* text, const char* end) {
  static constexpr std::string_view kKey = "\"traceEvents\"";
  const char* at = skip_space(text);
  if (at < end && *at == '[') return skip_space(at + 1);
  const std::string_view head(text, static_cast<std::size_t>(end - text));
  const std::size_t found = head.find(kKey);
  if (found == std::string_view::npos) return end;
  at = skip_space(text + found + kKey.size());
  if (*at == ':') at = skip_space(at + 1);
  return *at == '[' ? skip_space(at + 1) : end;
}

}  // namespace

Reading read_stretch(std::string_view text, const char* start, const char* limit,
                     std::uint64_t scanned_before) {
  EventStager stager(text.data(), text.data() + text.size(), scanned_before);
  Reading reading;
  reading.start = start;
  reading.stretch = stager.read(start, limit);
  reading.staged = stager.take();
  return reading;
}

Reading read_part(const char* text, std::size_t number, const PartSizes& sizes,
                  std::optional<std::size_t> text_bytes) {
  const std::size_t next_at = (number + 1) * sizes.part;
  const char* const end = text + text_bytes.value_or(next_at + sizes.behind - sizes.untouched);
  const char* const start =
      number == 0 ? first_event(text, end) : find_event(text + number * sizes.part, end);
  const char* const limit = text + next_at < end ? find_event(text + next_at, end) : end;
  if (start >= limit || (!text_bytes && limit == end)) return {};
  Reading reading = read_stretch({text, static_cast<std::size_t>(end - text)}, start, limit);
  const bool is_sure = reading.stretch.end == Stretch::End::Limit && reading.stretch.at <= end &&
                       reading.staged->troubles.broken_events == 0;
  return text_bytes || is_sure ? std::move(reading) : Reading();
}

void EarlyStretches::begins(const char* text, std::size_t expected_bytes) {
  if (threads_ < 2 || expected_bytes < 2 * kShortestStretch) return;
  text_ = text;
  sizes_.part =
      std::clamp(expected_bytes / (kPartsPerThread * threads_), kShortestStretch, kLongestStretch);
  for (unsigned i = 1; i < threads_; ++i) {
    try {
      readers_.emplace_back([this] { read_parts(); });
    } catch (const std::system_error&) {
      break;  // the threads that did start do the work
    }
  }
}

void EarlyStretches::grows(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  ready_ = bytes;
  more_.notify_all();
}

void EarlyStretches::moves() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    more_.notify_all();
  }
  readers_.clear();
  readings_.clear();
  thrown_ = nullptr;
}

std::vector<Reading> EarlyStretches::finish(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    if ((cancelled_ && thrown_ == nullptr) || sizes_.part == 0) return {};
    text_bytes_ = text.size();
    more_.notify_all();
  }
  read_parts();
  readers_.clear();
  if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  std::sort(readings_.begin(), readings_.end(),
            [](const Reading& a, const Reading& b) { return a.start < b.start; });
  return std::move(readings_);
}

std::optional<EarlyStretches::Part> EarlyStretches::next_part() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (cancelled_) return std::nullopt;
    if (text_bytes_ && next_ * sizes_.part >= *text_bytes_) return std::nullopt;
    if (text_bytes_ || (next_ + 1) * sizes_.part + sizes_.behind <= ready_)
      return Part{next_++, text_bytes_};
    more_.wait(lock);
  }
}

void EarlyStretches::read_parts() {
  try {
    while (const std::optional<Part> part = next_part()) {
      Reading reading = read_part(text_, part->number, sizes_, part->text_bytes);
      if (reading.staged == nullptr) continue;
      const std::lock_guard lock(mutex_);
      readings_.push_back(std::move(reading));
    }
  } catch (...) {  // no memory
    const std::lock_guard lock(mutex_);
    if (thrown_ == nullptr) thrown_ = std::current_exception();
    cancelled_ = true;
    more_.notify_all();
  }
}

}  // namespace sonde
