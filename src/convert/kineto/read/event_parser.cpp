// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/event_parser.h"

#include <algorithm>
#include <cstring>

#include "convert/json/json_number.h"
#include "convert/json/json_text.h"

namespace sonde {

namespace {

constexpr std::size_t kMostStencils = 65536;
constexpr std::size_t kLongestStencil = 1000;

std::string_view view(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

EventParser::EventParser(const char* end, Staged& staged)
    : end_(end), staged_(staged), predictions_(kPredictions) {}

const char* EventParser::broken(const char* at) {
  failed_at_ = at;
  return nullptr;
}

const char* EventParser::parse(const char* at) {
  const char* after = stencils(at);
  if (after != nullptr || predicting_) return after;
  // The arrays were not adjacent where the prediction treated them as one.
  after = stencils(at);
  predicting_ = true;
  return after;
}

const char* EventParser::parse_mending(const char* at) {
  mending_ = true;
  const char* after = parse(at);
  mending_ = false;
  return after;
}

void EventParser::parse_without_guessing(const char* at) {
  predicting_ = false;
  stencils(at);
  predicting_ = true;
}

const char* EventParser::stencils(const char* at) {
  event_.clear();
  arrays_begin_ = arrays_end_ = nullptr;
  arrays_apart_ = false;
  Context context = Context::Start;
  std::uint32_t before = last_stencil_;
  for (;;) {
    std::uint32_t id = known_stencil(before, at);
    const Stencil* stencil = nullptr;
    if (id != kNoStencil) {
      stencil = &stencils_[id];
    } else {
      stencil = learned_stencil(before, at, context);
      if (stencil == nullptr) return nullptr;
      id = stencil == &passing_ ? kNoStencil
                                : static_cast<std::uint32_t>(stencil - stencils_.data());
    }
    if (stencil->says_something) apply(id != kNoStencil ? said_[id] : said_passing_, id, at);
    before = id;
    context = stencil->ends_in_args ? Context::Args : Context::Event;
    at += stencil->size;
    if (stencil->next == Next::End) {
      last_stencil_ = id;
      return at;
    }
    at = value(*stencil, at);
    if (at == nullptr) return nullptr;
  }
}

// A stencil that followed `before` earlier and is found at `at`; kNoStencil if there is none.
std::uint32_t EventParser::known_stencil(std::uint32_t before, const char* at) {
  if (before == kNoStencil || mending_) return kNoStencil;
  std::array<std::uint32_t, kFollowers>& followers = stencils_[before].followers;
  const auto room = static_cast<std::size_t>(end_ - at);
  for (std::size_t i = 0; i < kFollowers && followers[i] != kNoStencil; ++i) {
    const std::uint32_t id = followers[i];
    const Stencil& stencil = stencils_[id];
    if (stencil.size > room || !same_bytes(stencil.text, at, stencil.size)) continue;
    // A stencil ends at the value, so with spaces before the value it is another stencil.
    const char* const behind = at + stencil.size;
    if (stencil.next != Next::End && skip_space(behind) != behind) continue;
    if (i > 0) std::swap(followers[i], followers[i - 1]);
    return id;
  }
  return kNoStencil;
}

const EventParser::Stencil* EventParser::learned_stencil(std::uint32_t before, const char* at,
                                                         Context context) {
  Stencil stencil;
  Said said;
  if (!read_stencil(at, context, stencil, said)) return nullptr;
  stencil.says_something = said.is_something();
  // "args" followed by something other than an object. With an object, the stencil would continue.
  const bool is_seldom = stencil.next == Next::UnknownKey && stencil.key_text() == "args";
  if (mending_ || is_seldom || stencil.size > kLongestStencil ||
      stencils_.size() >= kMostStencils) {
    passing_ = stencil;
    said_passing_ = said;
    return &passing_;
  }
  RawMemo& texts = stencil_texts_[static_cast<std::size_t>(context)];
  std::vector<std::uint32_t>& ids = stencil_ids_[static_cast<std::size_t>(context)];
  const std::uint32_t text = texts.id_of({at, stencil.size});
  if (text == ids.size()) {
    ids.push_back(static_cast<std::uint32_t>(stencils_.size()));
    stencils_.push_back(stencil);
    said_.push_back(said);
  }
  const std::uint32_t id = ids[text];
  if (before != kNoStencil) {
    std::array<std::uint32_t, kFollowers>& followers = stencils_[before].followers;
    std::copy_backward(followers.begin(), followers.end() - 1, followers.end());
    followers[0] = id;
  }
  return &stencils_[id];
}

// Reads from the end of a value, or from the '{' of an event, to the next value that is not part of
// the stencil.
bool EventParser::read_stencil(const char* at, Context context, Stencil& stencil, Said& said) {
  const char* begin = at;
  stencil.text = begin;
  bool in_args = context == Context::Args;
  bool is_first = context == Context::Start;
  at = skip_space(is_first ? at + 1 : at);
  for (;;) {
    if (!is_first) {
      if (*at == ',') {
        at = skip_space(at + 1);
      } else if (*at != '}') {
        return broken(at) != nullptr;
      }
    }
    is_first = false;
    if (at >= end_) return broken(end_) != nullptr;
    if (*at == '}' && in_args) {
      in_args = false;
      said.args_end = static_cast<std::int32_t>(at + 1 - begin);
      at = skip_space(at + 1);
      continue;
    }
    if (*at == '}') {
      stencil.next = Next::End;
      stencil.size = static_cast<std::uint32_t>(at + 1 - begin);
      stencil.ends_in_args = false;
      return true;
    }
    if (*at != '"') return broken(at) != nullptr;
    const char* quote = string_end(at + 1, end_);
    if (quote == nullptr) return broken(end_) != nullptr;
    const std::string_view key = view(at + 1, quote);
    stencil.key = key.data();
    stencil.key_size = static_cast<std::uint32_t>(key.size());
    at = skip_space(quote + 1);
    if (*at != ':') return broken(at) != nullptr;
    at = skip_space(at + 1);
    if (at - begin > INT32_MAX) return broken(at) != nullptr;
    if (!in_args && key == "args" && *at == '{') {
      said.args_begin = static_cast<std::int32_t>(at - begin);
      in_args = true;
      is_first = true;
      at = skip_space(at + 1);
      continue;
    }
    if (in_args) {
      stencil.arg = arg_key(key);
      stencil.next = stencil.arg == ArgKey::Unknown ? Next::UnknownArg : Next::Arg;
    } else {
      const char* after = read_member(key, at, stencil, said);
      if (after == nullptr) return false;
      if (after != at) {
        at = skip_space(after);
        continue;
      }
    }
    stencil.size = static_cast<std::uint32_t>(at - begin);
    stencil.ends_in_args = in_args;
    return true;
  }
}

// Reads values that seldom change into the stencil. Returns `at` for all others.
const char* EventParser::read_member(std::string_view key, const char* at, Stencil& stencil,
                                     Said& said) {
  std::string_view raw;
  const auto content = [&raw] { return is_quoted(raw) ? unquoted(raw) : raw; };
  const char* after = nullptr;
  switch (event_key(key)) {
    case EventKey::Phase:
      after = any(at, raw);
      said.has_phase = true;
      if (after != nullptr) said.phase = content().size() == 1 ? content()[0] : '\0';
      return after;
    case EventKey::Category:
      after = any(at, raw);
      said.has_category = true;
      if (after != nullptr) said.category = content();
      return after;
    case EventKey::Pid:
      return any(at, said.pid);
    case EventKey::Tid:
      return any(at, said.tid);
    case EventKey::Scope:
      return any(at, said.scope);
    case EventKey::BindingPoint:
      return any(at, said.binding_point);
    case EventKey::Name:
      stencil.next = Next::Name;
      return at;
    case EventKey::Time:
      stencil.next = Next::Time;
      return at;
    case EventKey::Duration:
      stencil.next = Next::Duration;
      return at;
    case EventKey::Id:
      stencil.next = Next::Id;
      return at;
    case EventKey::Args:
    case EventKey::Unknown:
      break;
  }
  stencil.next = Next::UnknownKey;
  return at;
}

inline void EventParser::apply(const Said& said, std::uint32_t id, const char* at) {
  if (said.has_phase) event_.phase = said.phase;
  if (said.has_category) {
    event_.has_category = true;
    event_.category = said.category;
  }
  if (!said.pid.empty() || !said.tid.empty()) {
    const bool has_both = !said.pid.empty() && !said.tid.empty();
    event_.place = has_both ? id : kNoStencil;
    if (!said.pid.empty()) event_.pid = said.pid;
    if (!said.tid.empty()) event_.tid = said.tid;
  }
  if (!said.scope.empty()) event_.scope = said.scope;
  if (!said.binding_point.empty()) event_.binding_point = said.binding_point;
  if (said.args_begin >= 0) event_.args = view(at + said.args_begin, at + said.args_begin);
  if (said.args_end >= 0) event_.args = view(event_.args.begin(), at + said.args_end);
}

inline const char* EventParser::value(const Stencil& stencil, const char* at) {
  std::string_view raw;
  bool is_number = false;
  switch (stencil.next) {
    case Next::Arg:
      return arg(stencil, at);
    case Next::Name:
      return name(at);
    case Next::Time:
      at = scan_micros(at, end_, event_.time, event_.has_time);
      return at != nullptr ? at : broken(end_);
    case Next::Duration:
      at = scan_micros(at, end_, event_.duration, is_number);
      if (!is_number) event_.duration = -1;
      return at != nullptr ? at : broken(end_);
    case Next::Id:
      return any(at, event_.id);
    case Next::UnknownArg:
      at = any(at, raw);
      if (at != nullptr) event_.unknown_args.push_back({stencil.key_text(), raw});
      return at;
    case Next::UnknownKey:
    case Next::End:
      break;
  }
  at = any(at, raw);
  if (at != nullptr) event_.unknown_keys.push_back({stencil.key_text(), raw});
  return at;
}

// Names come in the same order again and again, so most are found through the name before.
inline const char* EventParser::name(const char* at) {
  const RawId guess = last_name_ == kNoRaw ? kNoRaw : next_names_[last_name_];
  if (guess != kNoRaw && !mending_ && *at == '"') {
    const std::string_view text = staged_.texts.keys()[guess];
    const char* quote = at + 1 + text.size();
    if (text.size() < static_cast<std::size_t>(end_ - at) &&
        same_bytes(text.data(), at + 1, text.size()) && *quote == '"') {
      event_.name = guess;
      event_.name_text = view(at + 1, quote);
      last_name_ = guess;
      return quote + 1;
    }
  }
  return learned_name(at);
}

const char* EventParser::learned_name(const char* at) {
  std::string_view raw;
  at = any(at, raw);
  if (at == nullptr) return nullptr;
  event_.name_text = is_quoted(raw) ? unquoted(raw) : raw;
  event_.name = staged_.texts.id_of(event_.name_text);
  if (mending_ || !is_quoted(raw)) {
    last_name_ = kNoRaw;
    return at;
  }
  if (last_name_ != kNoRaw) next_names_[last_name_] = event_.name;
  last_name_ = event_.name;
  if (last_name_ >= next_names_.size()) {
    next_names_.resize(std::max<std::size_t>(last_name_ + 1, 2 * next_names_.size()), kNoRaw);
  }
  return at;
}

inline const char* EventParser::arg(const Stencil& stencil, const char* at) {
  const bool is_array = kArrays.has(stencil.arg);
  if (is_array && arrays(stencil.arg, at)) return at;
  ArgValue& value = event_.values[static_cast<std::size_t>(stencil.arg)];
  if (is_digit(*at) || *at == '-') {
    const JsonInteger number = scan_integer(at);
    value = {stencil.key, at, number.end, number.value, number.is_integer};
  } else {
    std::string_view raw;
    const char* after = any(at, raw);
    if (after == nullptr) return nullptr;
    value = {stencil.key, at, after, 0, false};
  }
  event_.present.add(stencil.arg);
  if (is_array) arrays_end_ = value.end;
  return value.end;
}

inline const char* EventParser::any(const char* at, std::string_view& raw) {
  const char* after = nullptr;
  if (*at == '"') {
    after = mending_ ? mended_string_end(at + 1) : string_end(at + 1, end_);
    if (after == nullptr) return broken(end_);
    ++after;
  } else {
    after = value_end(at, end_, &failed_at_);
    if (after == nullptr) return nullptr;
  }
  raw = view(at, after);
  return after;
}

// Finds the first quote that is followed by what may follow a value: the end of the object or
// array, or a comma and another key or value.
const char* EventParser::mended_string_end(const char* at) const {
  for (const char* quote = string_end(at, end_); quote != nullptr;
       quote = string_end(quote + 1, end_)) {
    const char* next = skip_space(quote + 1);
    if (*next == '}' || *next == ']') return quote;
    if (*next == ',' && *skip_space(next + 1) == '"') return quote;
  }
  return nullptr;
}

}  // namespace sonde
