// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/event_stager.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "convert/json/json_number.h"
#include "convert/json/json_text.h"

namespace sonde {

namespace {

constexpr std::size_t kLookAhead = 2048;  // bytes that are prefetched
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kUsualEventBytes = 5 * kCacheLine;
constexpr std::ptrdiff_t kSampled = 32;  // one part in 32 is used to estimate the rest

bool is_event_key(const char* key, const char* end) {
  const char* quote = string_end(key, std::min(key + 16, end));
  if (quote == nullptr) return false;
  const std::string_view text(key, static_cast<std::size_t>(quote - key));
  return event_key(text) != EventKey::Unknown;
}

// Whether the text before `at` may precede an event.
bool follows_comma_or_bracket(const char* at, const char* begin) {
  while (at > begin && static_cast<unsigned char>(at[-1]) <= 0x20) --at;
  return at == begin || at[-1] == ',' || at[-1] == '[';
}

const char* find_event_after(const char* begin, const char* at, const char* end) {
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, '{', static_cast<std::size_t>(end - at)));
    if (at == nullptr) return end;
    const char* key = skip_space(at + 1);
    if (*key == '"' && follows_comma_or_bracket(at, begin) && is_event_key(key + 1, end)) return at;
    ++at;
  }
  return end;
}

}  // namespace

const char* find_event(const char* at, const char* end) {
  return find_event_after(at - 1, at, end);
}

EventStager::EventStager(const char* text, const char* end, std::uint64_t scanned_before)
    : text_(text),
      end_(end),
      staged_(std::make_unique<Staged>()),
      parser_(end, *staged_),
      event_(parser_.event()),
      scanned_again_(scanned_before) {}

EventStager::~EventStager() = default;

Stretch EventStager::read(const char* at, const char* limit) {
  const std::uint64_t before = scanned_again_;
  Stretch stretch = read_events(at, limit);
  stretch.scanned_again = scanned_again_ - before;
  return stretch;
}

Stretch EventStager::read_events(const char* at, const char* limit) {
  const char* const sample_end = at + (limit - at) / kSampled;
  bool is_sampled = false;
  bool first = true;
  for (;;) {
    at = skip_space(at);
    if (at >= end_) return {Stretch::End::Text, end_, false, 0};
    if (*at == ']') return {Stretch::End::Closed, at + 1, false, 0};
    if (at >= limit && !first) return {Stretch::End::Limit, at, false, 0};
    first = false;
    if (at >= sample_end && !std::exchange(is_sampled, true)) make_room(kSampled);
    for (std::size_t i = 0; i < kUsualEventBytes; i += kCacheLine)
      __builtin_prefetch(at + kLookAhead + i);
    if (!read_event(at)) return {Stretch::End::Text, end_, true, 0};
    at = skip_space(at);
    if (*at == ',') ++at;
  }
}

// Reserves memory. Rows that outgrow it would be copied, and new pages cleared, again and again.
void EventStager::make_room(double times) {
  staged_->visit_rows([times](auto& rows) {
    constexpr double kSpare = 1.1;
    rows.reserve(static_cast<std::size_t>(kSpare * times * static_cast<double>(rows.size())));
  });
}

// False if the text ends inside the event.
bool EventStager::read_event(const char*& at) {
  event_begin_ = at;
  const char* after = *at == '{' ? parser_.parse(at) : nullptr;
  if (after == nullptr) {
    const char* failed_at = *at == '{' ? parser_.failed_at() : at;
    Troubles& troubles = staged_->troubles;
    const auto offset = static_cast<std::uint64_t>(at - text_);
    if (*at == '{' && failed_at < end_) after = parser_.parse_mending(at);
    if (after == nullptr) {
      const char* next = resynchronise(at, failed_at);
      if (next >= end_ && failed_at >= end_) return false;
      if (troubles.broken_events++ == 0) troubles.first_broken = offset;
      at = next;
      return true;
    }
    if (troubles.mended_events++ == 0) troubles.first_mended = offset;
  }
  event_end_ = after;
  at = after;
  ++staged_->events;
  stage();
  return true;
}

// Another event may begin inside a broken one. Once too much text was scanned again, the search
// continues after what was read already.
const char* EventStager::resynchronise(const char* event, const char* failed_at) {
  failed_at = std::min(failed_at, end_);
  scanned_again_ += static_cast<std::uint64_t>(failed_at - event);
  const bool too_much = scanned_again_ > most_scanned_again(static_cast<std::size_t>(end_ - text_));
  return find_event_after(event, too_much ? std::max(failed_at, event + 1) : event + 1, end_);
}

void EventStager::stage() {
  // Only spans have columns for arguments.
  const bool is_span = event_.phase == 'X' || event_.phase == 'B' || event_.phase == 'b';
  if (!is_span && event_.known_arguments != kNoRaw) parser_.parse_without_guessing(event_begin_);
  left_ = event_.present;
  switch (event_.phase) {
    case 'X':
    case 'B':
    case 'b':
      return stage_span();
    case 'E':
    case 'e':
      return stage_edge_end();
    case 'i':
    case 'I':
    case 'n':
    case 'P':
    case 'R':
      return stage_point();
    case 'C':
      return stage_counter();
    case 's':
    case 't':
    case 'f':
      return stage_flow();
    case 'M':
      return stage_meta();
    default:
      return stage_unknown();
  }
}

std::string_view EventStager::event_text() const {
  return {event_begin_, static_cast<std::size_t>(event_end_ - event_begin_)};
}

void EventStager::stage_unknown() {
  staged_->unknown_events.push_back(event_text());
}

bool EventStager::needs_time() {
  if (event_.has_time) return true;
  Troubles& troubles = staged_->troubles;
  if (troubles.without_time++ == 0) {
    troubles.first_without_time = static_cast<std::uint64_t>(event_begin_ - text_);
  }
  return false;
}

const Category& EventStager::category() {
  static constexpr Category kNone;
  if (!event_.has_category) return kNone;
  if (same_text(event_.category, last_category_text_)) return last_category_;
  last_category_text_ = event_.category;
  const std::uint32_t id = category_ids_.id_of(event_.category);
  if (id == categories_.size()) categories_.push_back(category_of(event_.category));
  return last_category_ = categories_[id];
}

RawId EventStager::category_text() {
  return event_.has_category ? staged_->texts.id_of(event_.category) : kNoRaw;
}

EventStager::Tracks& EventStager::tracks(bool on_device, Line line) {
  if (line == Line::Process) return tracks_[3];
  if (line == Line::EarlyFlow) return tracks_[2];
  return tracks_[on_device ? 1 : 0];
}

std::uint32_t EventStager::track(bool on_device, Line line) {
  Tracks& known = tracks(on_device, line);
  std::uint32_t found = kNoRaw;
  std::vector<std::uint32_t>& of_places = known.of_place;
  if (event_.place < of_places.size()) found = of_places[event_.place];
  if (found == kNoRaw) {
    found = slow_track(known, on_device);
    if (event_.place != kNoRaw) {
      of_places.resize(std::max<std::size_t>(of_places.size(), event_.place + 1), kNoRaw);
      of_places[event_.place] = found;
    }
  }
  StagedTrack& staged = staged_->tracks[found];
  staged.has_events |= line == Line::Event;
  staged.is_line |= line != Line::Process;
  ++staged.users;
  return found;
}

std::uint32_t EventStager::slow_track(Tracks& known, bool on_device) {
  const RawId pid = id_texts_.id_of(event_.pid);
  const RawId tid = id_texts_.id_of(event_.tid);
  const std::uint64_t key = std::uint64_t{pid} << 32 | tid;
  const auto next = static_cast<std::uint32_t>(staged_->tracks.size());
  const auto [found, is_new] = known.of_ids.try_emplace(key, next);
  if (is_new) staged_->tracks.push_back({event_.pid, event_.tid, on_device, false, 0, false});
  return found->second;
}

void EventStager::stage_edge_end() {
  if (!needs_time()) return;
  StagedEdge edge;
  edge.time = event_.time;
  edge.track = track(false);
  edge.name = event_.name;
  edge.category = category_text();
  edge.id = event_.id.empty() ? kNoRaw : staged_->values.id_of(event_.id);
  edge.event = event_text();
  edge.phase = event_.phase;
  staged_->edges.push_back(edge);
}

void EventStager::stage_flow() {
  if (!needs_time()) return;
  StagedFlow flow;
  const JsonInteger id = event_.id.empty() ? JsonInteger() : scan_integer(event_.id.begin());
  flow.id = id.value;
  if (!id.is_integer) {
    flow.foreign_id = staged_->values.id_of(event_.id.empty() ? event_.pid : event_.id);
  }
  flow.time = event_.time;
  // A flow is on the line of its span. Its category does not say which line that is.
  const bool is_early = last_span_ == StagedFlow::kNoSpan;
  if (is_early) {
    ++staged_->flows_before_spans;
  } else {
    const StagedSpan& span = staged_->spans[last_span_];
    const StagedTrack& line = staged_->tracks[span.track];
    if (span.start == flow.time && line.pid == event_.pid && line.tid == event_.tid) {
      flow.span = last_span_;
      flow.track = span.track;
    }
  }
  if (flow.span == StagedFlow::kNoSpan)
    flow.track = track(false, is_early ? Line::EarlyFlow : Line::Flow);
  flow.name = event_.name;
  flow.category = category_text();
  flow.phase = event_.phase;
  const bool is_usual = left_.empty() && event_.unknown_args.empty() &&
                        event_.unknown_keys.empty() && event_.scope.empty() &&
                        (event_.binding_point.empty() || binds_as_usual());
  if (!is_usual) {
    stage_extras(TableKind::Flows, static_cast<std::uint32_t>(staged_->flows.size()));
  }
  staged_->flows.push_back(flow);
}

bool EventStager::binds_as_usual() const {
  return event_.phase == 'f' && event_.binding_point == "\"e\"";
}

void EventStager::stage_meta() {
  const MetaRow* const meta = find_meta_row(event_.name_text);
  if (meta == nullptr || !left_.has(meta->key)) return stage_unknown();
  const ArgValue& value = event_[meta->key];
  left_.remove(meta->key);
  const bool is_number = meta->key == ArgKey::SortIndex || meta->key == ArgKey::Tid;
  const bool fits = is_number ? value.is_integer : is_quoted(value.text());
  if (!fits || !left_.empty() || !event_.unknown_args.empty() || !event_.unknown_keys.empty()) {
    return stage_unknown();
  }
  const auto row = static_cast<std::uint32_t>(staged_->metas.size());
  const bool of_thread = meta->kind >= MetaKind::ThreadName;
  const Line line = meta->kind == MetaKind::ThreadLaneOf ? Line::Process
                    : of_thread                          ? Line::Name
                                                         : Line::Process;
  staged_->metas.push_back({meta->kind, track(false, line), value.text()});
  if (meta->kind == MetaKind::ProcessSortIndex && event_.pid == "\"Spans\"") {
    staged_->window_parts.push_back({StagedWindowPart::Kind::SortIndex, row, staged_->events});
  }
}

}  // namespace sonde
