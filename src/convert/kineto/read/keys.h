// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds the keys of events and of their arguments by their text, and knows naming rows and Kineto's
// categories.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "convert/kineto/keys_gen.h"
#include "sonde/trace/tables_gen.h"

namespace sonde {

// The metadata key that holds Sonde's ledger from when it wrote the file.
inline constexpr std::string_view kLedgerKey = "sonde_ledger";

enum class EventKey : std::uint8_t {
  Phase,
  Category,
  Name,
  Pid,
  Tid,
  Time,
  Duration,
  Args,
  Id,
  Scope,
  BindingPoint,
  Unknown,
};

// Finds a key by its raw text, which must be padded as json_text.h requires.
EventKey event_key(std::string_view raw);

ArgKey arg_key(std::string_view raw);

// A set of argument keys.
class ArgKeySet {
 public:
  constexpr ArgKeySet() = default;
  template <typename... Keys>
  constexpr explicit ArgKeySet(Keys... keys) {
    (add(keys), ...);
  }
  constexpr void add(ArgKey key) { bits_[word(key)] |= bit(key); }
  constexpr void remove(ArgKey key) { bits_[word(key)] &= ~bit(key); }
  constexpr bool has(ArgKey key) const { return (bits_[word(key)] & bit(key)) != 0; }
  constexpr bool has_any(const ArgKeySet& of) const {
    return ((bits_[0] & of.bits_[0]) | (bits_[1] & of.bits_[1])) != 0;
  }
  constexpr bool empty() const { return (bits_[0] | bits_[1]) == 0; }
  constexpr void remove_all(const ArgKeySet& of) {
    bits_[0] &= ~of.bits_[0];
    bits_[1] &= ~of.bits_[1];
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t w = 0; w < 2; ++w) {
      for (std::uint64_t left = bits_[w]; left != 0; left &= left - 1) {
        visit(static_cast<ArgKey>(64 * w + static_cast<std::size_t>(__builtin_ctzll(left))));
      }
    }
  }

 private:
  static constexpr std::size_t word(ArgKey key) { return static_cast<std::size_t>(key) / 64; }
  static constexpr std::uint64_t bit(ArgKey key) {
    return std::uint64_t{1} << (static_cast<unsigned>(key) % 64);
  }
  std::uint64_t bits_[2] = {0, 0};
};
static_assert(kArgKeyTexts.size() <= 128);

// Keys that Kineto does not write.
inline constexpr ArgKeySet kOwnKeys = [] {
  ArgKeySet keys;
  for (const ArgKeyText& key : kArgKeyTexts) {
    if (key.is_ours) keys.add(key.key);
  }
  return keys;
}();

// The keys that have a column in a table.
template <typename Row>
constexpr ArgKeySet column_keys() {
  ArgKeySet keys;
  Row row;
  visit_keys(row, [&keys](ArgKey key, auto&&) {
    keys.add(key);
    return false;
  });
  return keys;
}

// The rows that name or order a process or a thread: the event's name and its one argument.
enum class MetaKind : std::uint8_t {
  ProcessName,
  ProcessLabels,
  ProcessSortIndex,
  ThreadName,
  ThreadSortIndex,
  ThreadLaneOf,
};
struct MetaRow {
  MetaKind kind;
  std::string_view name;
  ArgKey key;
};
inline constexpr std::array<MetaRow, 6> kMetaRows = {{
    {MetaKind::ProcessName, "process_name", ArgKey::Name},
    {MetaKind::ProcessLabels, "process_labels", ArgKey::Labels},
    {MetaKind::ProcessSortIndex, "process_sort_index", ArgKey::SortIndex},
    {MetaKind::ThreadName, "thread_name", ArgKey::Name},
    {MetaKind::ThreadSortIndex, "thread_sort_index", ArgKey::SortIndex},
    {MetaKind::ThreadLaneOf, "thread_lane_of", ArgKey::Tid},
}};
constexpr const MetaRow& meta_row(MetaKind kind) {
  return kMetaRows[static_cast<std::size_t>(kind)];
}
static_assert(std::all_of(kMetaRows.begin(), kMetaRows.end(),
                          [](const MetaRow& row) { return meta_row(row.kind).kind == row.kind; }),
              "rows stand in the order of MetaKind");
// Null if none has that name.
constexpr const MetaRow* find_meta_row(std::string_view name) {
  const auto found = std::find_if(kMetaRows.begin(), kMetaRows.end(),
                                  [name](const MetaRow& row) { return row.name == name; });
  return found == kMetaRows.end() ? nullptr : &*found;
}

// What a category means. Names that only old versions wrote are known too. They count as foreign:
// their text must be kept.
struct Category {
  SpanKind kind = SpanKind::Other;
  bool is_foreign = true;
  bool on_device = false;  // pid is a device and tid a stream
};
Category category_of(std::string_view text);
FlowKind flow_kind_of(std::string_view category);

}  // namespace sonde
