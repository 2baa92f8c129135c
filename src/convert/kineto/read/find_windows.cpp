// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/find_windows.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/json_string.h"

namespace sonde {

namespace {

using Kind = StagedWindowPart::Kind;

// A part with its stretch and the number of its event in the file.
struct Part {
  StagedWindowPart staged;
  std::size_t stretch;
  std::uint64_t event;
};

std::vector<Part> all_parts(const std::vector<Staged>& stretches) {
  std::vector<Part> parts;
  std::uint64_t before = 0;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    for (const StagedWindowPart& part : stretches[s].window_parts) {
      parts.push_back({part, s, before + part.event});
    }
    before += stretches[s].events;
  }
  return parts;
}

bool is_window(const Part* part) {
  constexpr Kind kOrder[] = {Kind::Trace, Kind::SortIndex, Kind::IterationStart, Kind::WindowEnd};
  for (std::uint64_t i = 0; i < 4; ++i) {
    if (part[i].staged.kind != kOrder[i] || part[i].event != part[0].event + i) return false;
  }
  return true;
}

class WindowFinder {
 public:
  WindowFinder(std::vector<Staged>& stretches, Hidden& hidden)
      : stretches_(stretches), hidden_(hidden) {
    for (const Staged& stretch : stretches) {
      hidden_.metas.emplace_back(stretch.metas.size());
      hidden_.tracks.emplace_back(stretch.tracks.size());
      hidden_.instants.emplace_back(stretch.instants.size());
      hidden_users_.emplace_back(stretch.tracks.size());
    }
  }

  std::vector<FoundWindow> find() {
    const std::vector<Part> parts = all_parts(stretches_);
    std::vector<FoundWindow> windows;
    for (std::size_t i = 0; i + 4 <= parts.size(); ++i) {
      if (!is_window(&parts[i])) continue;
      if (std::optional<FoundWindow> window = read(&parts[i])) {
        windows.push_back(std::move(*window));
        hide(&parts[i]);
        i += 3;
      }
    }
    return windows;
  }

 private:
  const StagedSpan& span_of(const Part& part) const {
    return stretches_[part.stretch].spans[part.staged.row];
  }
  const InstantRow& instant_of(const Part& part) const {
    return stretches_[part.stretch].instants[part.staged.row];
  }
  const StagedMeta& meta_of(const Part& part) const {
    return stretches_[part.stretch].metas[part.staged.row];
  }
  std::string text(const Part& part, std::uint32_t id) const {
    return id == kNoRaw ? "" : decode_json_string(stretches_[part.stretch].texts.keys()[id]);
  }
  bool is_on(const Part& part, std::uint32_t track, const std::string& pid,
             const std::string& tid) const {
    const StagedTrack& line = stretches_[part.stretch].tracks[track];
    return line.pid == json_string(pid) && line.tid == json_string(tid);
  }
  bool has_extras(const Part& part, TableKind table) const {
    const std::vector<StagedExtra>& extras = stretches_[part.stretch].extras;
    return std::any_of(extras.begin(), extras.end(), [&](const StagedExtra& extra) {
      return extra.of_table == table && extra.row == part.staged.row;
    });
  }

  // The extras of the span, if the number of operators is the only one.
  std::optional<std::string> operator_count(const Part& part) const {
    const Staged& stretch = stretches_[part.stretch];
    std::string count;
    for (const StagedExtra& extra : stretch.extras) {
      if (extra.of_table != TableKind::Spans || extra.row != part.staged.row) continue;
      if (stretch.texts.keys()[extra.key] != text_of(ArgKey::OpCount) || extra.of_event)
        return std::nullopt;
      count = stretch.values.keys()[extra.value];
    }
    return count;
  }

  std::optional<FoundWindow> read(const Part* part) const {
    const StagedSpan& span = span_of(part[0]);
    const InstantRow& start = instant_of(part[2]);
    const InstantRow& end = instant_of(part[3]);
    FoundWindow window;
    window.name = text(part[0], span.name);
    static constexpr std::string_view kFirst = " (0)";
    if (window.name.size() < kFirst.size() || !window.name.ends_with(kFirst)) return std::nullopt;
    window.name.resize(window.name.size() - kFirst.size());
    const bool fits =
        is_on(part[0], span.track, "Spans", window.name) && meta_of(part[1]).value == "536870912" &&
        is_on(part[2], start.track.value(), "Traces", "Trace " + window.name) &&
        text(part[2], start.name.value()) == "Iteration Start: " + window.name &&
        is_on(part[3], end.track.value(), "", "") && start.time_ns == span.start &&
        !start.category.valid() && !end.category.valid() && start.scope == InstantScope::Global &&
        end.scope == InstantScope::Global && !has_extras(part[2], TableKind::Instants) &&
        !has_extras(part[3], TableKind::Instants);
    const std::optional<std::string> count = operator_count(part[0]);
    if (!fits || !count) return std::nullopt;
    if (*count != "0") window.operator_count = *count;
    window.start = span.start;
    window.closed = end.time_ns;
    if (__builtin_add_overflow(span.start, span.duration, &window.end)) return std::nullopt;
    return window;
  }

  void hide(const Part* part) {
    Staged& first = stretches_[part[0].stretch];
    StagedSpan& span = first.spans[part[0].staged.row];
    span.duration = StagedSpan::kHidden;
    std::erase_if(first.extras, [&](const StagedExtra& extra) {
      return extra.of_table == TableKind::Spans && extra.row == part[0].staged.row;
    });
    hidden_.metas[part[1].stretch][part[1].staged.row] = true;
    hidden_.instants[part[2].stretch][part[2].staged.row] = true;
    hidden_.instants[part[3].stretch][part[3].staged.row] = true;
    hide_track(part[0], span.track);
    hide_track(part[1], meta_of(part[1]).track);
    hide_track(part[2], instant_of(part[2]).track.value());
    hide_track(part[3], instant_of(part[3]).track.value());
  }

  void hide_track(const Part& part, std::uint32_t track) {
    std::uint32_t& users = hidden_users_[part.stretch][track];
    ++users;
    hidden_.tracks[part.stretch][track] = users == stretches_[part.stretch].tracks[track].users;
  }

  std::vector<Staged>& stretches_;
  Hidden& hidden_;
  std::vector<std::vector<std::uint32_t>> hidden_users_;
};

}  // namespace

std::vector<FoundWindow> find_windows(std::vector<Staged>& stretches, Hidden& hidden) {
  return WindowFinder(stretches, hidden).find();
}

}  // namespace sonde
