// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/extras.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/json_string.h"
#include "base/run_sort.h"
#include "convert/kineto/read/keys.h"

namespace sonde {

namespace {

constexpr std::array<ArgKey, 4> kArrayKeys = {ArgKey::InputDims, ArgKey::InputStrides,
                                              ArgKey::InputType, ArgKey::ConcreteInputs};

ExtraRow extra_row(TraceBuilder& builder, TableKind table, std::uint32_t row, std::string_view key,
                   std::string_view raw) {
  ExtraRow extra;
  extra.of_table = table;
  extra.of_row = row;
  extra.key = builder.intern(key);
  extra.value = builder.intern(valid_json(raw));
  return extra;
}

template <typename Id>
bool all_valid(const std::vector<Id>& ids) {
  return std::all_of(ids.begin(), ids.end(), [](Id id) { return id.valid(); });
}

class ExtraFiller {
 public:
  ExtraFiller(TraceBuilder& builder, const Joined& joined, const PlacedRows& placed)
      : builder_(builder), joined_(joined), placed_(placed) {}

  void fill() {
    for (std::size_t s = 0; s < joined_.stretches.size(); ++s) {
      add_staged(s);
      add_raw_lists(s);
      add_raw_modules(s);
    }
    run_sort(rows_, [](const ExtraRow& a, const ExtraRow& b) {
      return a.of_table != b.of_table ? a.of_table < b.of_table : a.of_row < b.of_row;
    });
    for (const ExtraRow& row : rows_) builder_.extras().push_back(row);
    for (const Staged& stretch : joined_.stretches) {
      for (const std::string_view event : stretch.unknown_events) {
        keep_extra(builder_, TableKind::None, kNoRow, "event", event);
      }
    }
  }

 private:
  std::uint32_t new_row(std::size_t stretch, const StagedExtra& extra) const {
    switch (extra.of_table) {
      case TableKind::Spans:
        return placed_.spans(stretch, extra.row).value();
      case TableKind::Allocations:
        return placed_.allocations[stretch][extra.row];
      case TableKind::Instants:
        return placed_.instants[stretch][extra.row];
      case TableKind::Counters:
        return placed_.counters[stretch][extra.row];
      default:
        return kNoRow;
    }
  }

  void add_staged(std::size_t s) {
    const Staged& stretch = joined_.stretches[s];
    std::vector<StringId> values(stretch.values.size());
    std::vector<StringId> event_keys(stretch.texts.size());
    for (const StagedExtra& staged : stretch.extras) {
      if (staged.of_table == TableKind::Flows) {
        add_to_flow(s, staged);
        continue;
      }
      ExtraRow extra;
      extra.of_table = staged.of_table;
      extra.of_row = new_row(s, staged);
      extra.key = staged.of_event ? event_key_of(s, staged.key, event_keys[staged.key])
                                  : joined_.text(s, staged.key);
      StringId& value = values[staged.value];
      if (!value.valid()) {
        value = builder_.intern(valid_json(stretch.values.keys()[staged.value]));
      }
      extra.value = value;
      rows_.push_back(extra);
    }
  }

  // A flow has two events. The key of an extra says which one it belongs to.
  void add_to_flow(std::size_t s, const StagedExtra& staged) {
    const auto place = std::make_pair(static_cast<std::uint32_t>(s), staged.row);
    const auto end = placed_.flows.find(place);
    if (end == placed_.flows.end()) return;
    std::string key = end->second.is_start ? "start." : "end.";
    if (staged.of_event) key += "event.";
    key += builder_.strings()[joined_.text(s, staged.key)];
    rows_.push_back(extra_row(builder_, TableKind::Flows, end->second.flow, key,
                              joined_.stretches[s].values.keys()[staged.value]));
  }

  StringId event_key_of(std::size_t stretch, RawId key, StringId& known) {
    if (!known.valid()) {
      known =
          builder_.intern("event." + std::string(builder_.strings()[joined_.text(stretch, key)]));
    }
    return known;
  }

  // Arrays that the tables cannot hold are kept as raw text.
  void add_raw_lists(std::size_t s) {
    const std::vector<ArgumentListId>& lists = joined_.lists[s];
    if (all_valid(lists)) return;
    const Staged& stretch = joined_.stretches[s];
    for (std::uint32_t i = 0; i < stretch.spans.size(); ++i) {
      const RawId list = stretch.spans[i].arguments;
      if (list == kNoRaw || lists[list].valid()) continue;
      const RawArguments& raw = stretch.argument_lists.keys()[list];
      for (std::size_t k = 0; k < raw.size(); ++k) {
        if (!raw[k].empty()) add_raw(placed_.spans(s, i), text_of(kArrayKeys[k]), raw[k]);
      }
    }
  }

  void add_raw_modules(std::size_t s) {
    const std::vector<ModuleId>& modules = joined_.modules[s];
    if (all_valid(modules)) return;
    const Staged& stretch = joined_.stretches[s];
    for (std::uint32_t i = 0; i < stretch.spans.size(); ++i) {
      const RawId module = stretch.raw_of(stretch.spans[i], SpanField::Module);
      if (module == kNoRaw || modules[module].valid()) continue;
      const std::string raw = '"' + std::string(stretch.modules.keys()[module]) + '"';
      add_raw(placed_.spans(s, i), text_of(ArgKey::ModuleHierarchy), raw);
    }
  }

  void add_raw(SpanId span, std::string_view key, std::string_view raw) {
    if (!span.valid()) return;
    rows_.push_back(extra_row(builder_, TableKind::Spans, span.value(), key, raw));
  }

  TraceBuilder& builder_;
  const Joined& joined_;
  const PlacedRows& placed_;
  std::vector<ExtraRow> rows_;
};

}  // namespace

void keep_extra(TraceBuilder& builder, TableKind table, std::uint32_t row, std::string_view key,
                std::string_view raw) {
  builder.extras().push_back(extra_row(builder, table, row, key, raw));
}

bool needs_spans(const Joined& joined, std::size_t stretch) {
  return !all_valid(joined.lists[stretch]) || !all_valid(joined.modules[stretch]);
}

void fill_extras(TraceBuilder& builder, const Joined& joined, const PlacedRows& placed) {
  ExtraFiller(builder, joined, placed).fill();
}

}  // namespace sonde
