// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/stretches.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "convert/json/json_bytes.h"
#include "convert/json/json_text.h"

namespace sonde {

namespace {

// More than when the whole text is available: readers should not wait long for the first part, nor
// have much left to do after the last.
constexpr std::size_t kPartsPerThread = 4;
// If text is given back, little of it should be there at once. Each part learns again what events
// look like, so they are not shorter.
constexpr std::size_t kLongestPart = std::size_t{32} << 20;
// The thread that inflates reads a part itself when so many wait.
constexpr std::size_t kMostWaiting = 2;

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

// The first event as a reader of the whole text finds it; null if that takes more than skipping
// members.
const char* surely_first_event(const char* text, const char* end) {
  const char* at = skip_space(text);
  if (at < end && *at == '[') return skip_space(at + 1);
  if (at >= end || *at != '{') return nullptr;
  at = skip_space(at + 1);
  while (at < end && *at == '"') {
    const char* const quote = string_end(at + 1, end);
    if (quote == nullptr) return nullptr;
    const std::string_view key(at + 1, static_cast<std::size_t>(quote - at - 1));
    at = skip_space(quote + 1);
    if (*at != ':') return nullptr;
    at = skip_space(at + 1);
    if (key == "traceEvents") return *at == '[' ? skip_space(at + 1) : nullptr;
    const char* failed_at = nullptr;
    const char* const after = value_end(at, end, &failed_at);
    if (after == nullptr) return nullptr;
    at = skip_space(after);
    if (*at != ',') return nullptr;
    at = skip_space(at + 1);
  }
  return nullptr;
}

// The text from one event to another, without the pages that a reading refers to.
class ReadPages {
 public:
  ReadPages(const char* first, const char* last) {
    first_ = (address_of(first) + kPage - 1) / kPage;
    const std::uintptr_t end = address_of(last) / kPage;
    is_kept_.resize(end > first_ ? end - first_ : 0);
  }

  void keep(const Staged& staged) {
    for (const RawMemo* memo : {&staged.texts, &staged.stacks, &staged.modules, &staged.values})
      for (const std::string_view text : memo->keys()) keep(text);
    for (const RawArguments& arrays : staged.argument_lists.keys())
      for (const std::string_view text : arrays) keep(text);
    for (const StagedTrack& track : staged.tracks) keep(track.pid), keep(track.tid);
    for (const StagedEdge& edge : staged.edges) keep(edge.event), keep(edge.end_thread);
    for (const StagedMeta& meta : staged.metas) keep(meta.value);
    for (const std::string_view event : staged.unknown_events) keep(event);
  }

  void give_back() const {
    for (std::size_t i = 0; i < is_kept_.size();) {
      const std::size_t first = i;
      while (i < is_kept_.size() && !is_kept_[i]) ++i;
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      auto* const begin = reinterpret_cast<char*>((first_ + first) * kPage);
      if (i > first) PaddedBytes::forget(begin, (i - first) * kPage);
      while (i < is_kept_.size() && is_kept_[i]) ++i;
    }
  }

 private:
  static constexpr std::uintptr_t kPage = 4096;
  static std::uintptr_t address_of(const char* at) { return reinterpret_cast<std::uintptr_t>(at); }

  // With what is read past the end of a text.
  void keep(std::string_view text) {
    if (text.empty()) return;
    const std::uintptr_t begin = address_of(&text.front());
    const std::uintptr_t last = (begin + text.size() + kJsonPadding) / kPage;
    std::uintptr_t page = std::max(first_, begin / kPage);
    for (; page <= last && page - first_ < is_kept_.size(); ++page) is_kept_[page - first_] = true;
  }

  std::uintptr_t first_ = 0;  // the number of the first page
  std::vector<bool> is_kept_;
};

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
  const std::size_t longest = read_text_ == ReadText::IsGivenBack ? kLongestPart : kLongestStretch;
  sizes_.part =
      std::clamp(expected_bytes / (kPartsPerThread * threads_), kShortestStretch, longest);
  for (unsigned i = 1; i < threads_; ++i) {
    try {
      readers_.emplace_back([this] { read_parts(); });
    } catch (const std::system_error&) {
      break;  // the threads that did start do the work
    }
  }
}

void EarlyStretches::grows(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  ready_ = bytes;
  more_.notify_all();
  if (read_text_ == ReadText::Stays || sizes_.part == 0) return;
  while (!cancelled_ && is_ready((kMostWaiting - 1) * sizes_.part + sizes_.behind)) {
    const Part part{next_++, std::nullopt};
    lock.unlock();
    read(part);
    lock.lock();
  }
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
  std::vector<Reading> readings;
  for (std::optional<Reading>& reading : readings_)
    if (reading && reading->staged != nullptr) readings.push_back(std::move(*reading));
  return readings;
}

bool EarlyStretches::is_ready(std::size_t bytes_after) const {
  return (next_ + 1) * sizes_.part + bytes_after <= ready_;
}

std::optional<EarlyStretches::Part> EarlyStretches::next_part() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (cancelled_) return std::nullopt;
    if (text_bytes_ && next_ * sizes_.part >= *text_bytes_) return std::nullopt;
    if (text_bytes_ || is_ready(sizes_.behind)) return Part{next_++, text_bytes_};
    more_.wait(lock);
  }
}

void EarlyStretches::read_parts() {
  while (const std::optional<Part> part = next_part()) read(*part);
}

void EarlyStretches::read(const Part& part) {
  try {
    Reading reading = read_part(text_, part.number, sizes_, part.text_bytes);
    const std::lock_guard lock(mutex_);
    if (readings_.size() <= part.number) readings_.resize(part.number + 1);
    readings_[part.number] = std::move(reading);
    if (read_text_ == ReadText::IsGivenBack && !cancelled_) give_back_text();
  } catch (...) {  // no memory
    const std::lock_guard lock(mutex_);
    if (thrown_ == nullptr) thrown_ = std::current_exception();
    cancelled_ = true;
    more_.notify_all();
  }
}

// Gives back the text of parts that will surely be taken as they are.
void EarlyStretches::give_back_text() {
  for (; next_to_give_back_ < readings_.size(); ++next_to_give_back_) {
    const std::optional<Reading>& reading = readings_[next_to_give_back_];
    if (!reading) return;
    const bool is_read = reading->staged != nullptr;
    if (next_to_give_back_ == 0 && is_read)
      follows_at_ = surely_first_event(text_, text_ + sizes_.part);
    if (!is_read || reading->start != follows_at_ || reading->stretch.end != Stretch::End::Limit ||
        reading->stretch.scanned_again > 0) {
      follows_at_ = nullptr;
      continue;
    }
    follows_at_ = reading->stretch.at;
    // The next part may still look for its first event, from a little before its begin on.
    const char* const next_part = text_ + (next_to_give_back_ + 1) * sizes_.part - kJsonPadding;
    ReadPages pages(reading->start, std::min(reading->stretch.at, next_part));
    pages.keep(*reading->staged);
    gave_back_ = true;
    pages.give_back();
  }
}

}  // namespace sonde
