// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/mended_texts.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_string.h"
#include "base/parallel.h"
#include "convert/json/json_memo.h"
#include "convert/json/json_text.h"

namespace sonde {

namespace {

struct Fault {
  std::string_view text;
  const char* at = nullptr;
};

class Faults {
 public:
  // `raw` is the text between the quotes.
  void look_at_text(std::string_view raw) {
    const std::size_t at = json_string_fault(raw);
    if (at != std::string_view::npos) found_.push_back({raw, raw.begin() + at});
  }

  void look_at_value(std::string_view raw) {
    if (raw.empty() || validate_json(raw)) return;
    found_.push_back({raw, fault_in_strings(raw)});
  }

  void look_at_stretch(const Staged& stretch) {
    for (const RawMemo* texts : {&stretch.texts, &stretch.stacks, &stretch.modules}) {
      for (const std::string_view raw : texts->keys()) look_at_text(raw);
    }
    for (const std::string_view raw : stretch.values.keys()) look_at_value(raw);
    for (const RawArguments& arrays : stretch.argument_lists.keys()) {
      for (const std::string_view raw : arrays) look_at_value(raw);
    }
    for (const StagedTrack& track : stretch.tracks) {
      look_at_value(track.pid);
      look_at_value(track.tid);
    }
    for (const StagedMeta& meta : stretch.metas) look_at_value(meta.value);
    for (const StagedEdge& edge : stretch.edges) look_at_value(edge.event);
    for (const std::string_view event : stretch.unknown_events) look_at_value(event);
  }

  const std::vector<Fault>& found() const { return found_; }

 private:
  // The position of the first fault in a string of the value; the beginning of the value if there
  // is none.
  static const char* fault_in_strings(std::string_view raw) {
    const char* const end = raw.end();
    const char* at = std::find(raw.begin(), end, '"');
    while (at < end) {
      const char* const quote = string_end(at + 1, end);
      if (quote == nullptr) break;
      const std::string_view content(at + 1, static_cast<std::size_t>(quote - at - 1));
      const std::size_t fault = json_string_fault(content);
      if (fault != std::string_view::npos) return content.begin() + fault;
      at = std::find(quote + 1, end, '"');
    }
    return raw.begin();
  }

  std::vector<Fault> found_;
};

}  // namespace

MendedTexts mended_texts(const KinetoParts& parts, unsigned threads) {
  std::vector<Faults> faults(parts.stretches.size() + 1);
  const auto look = [&](std::size_t i) { faults[i].look_at_stretch(parts.stretches[i]); };
  parallel_for(parts.stretches.size(), look, threads);
  for (const RawMember& member : parts.metadata) {
    faults.back().look_at_text(member.key);
    faults.back().look_at_value(member.value);
  }
  faults.back().look_at_value(parts.devices);

  MendedTexts mended;
  RawMemo seen;  // several stretches hold the same texts
  for (const Faults& of_stretch : faults) {
    for (const Fault& fault : of_stretch.found()) {
      seen.id_of(fault.text);
      if (mended.first == nullptr || fault.at < mended.first) mended.first = fault.at;
    }
  }
  mended.count = seen.size();
  return mended;
}

}  // namespace sonde
