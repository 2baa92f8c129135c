// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <functional>
#include <string>

#include "sonde/trace/strings.h"

namespace sonde {

namespace {

constexpr std::uint32_t kFreeSlot = 0xffffffff;
constexpr std::size_t kFirstSlots = 64;

}  // namespace

StringId StringPool::add(std::string_view text) {
  const bool is_ours = std::less_equal<>()(bytes_.data(), text.data()) &&
                       std::less<>()(text.data(), bytes_.data() + bytes_.size());
  if (is_ours) return add(std::string(text));  // growing would move it away
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  ends_.push_back(bytes_.size());
  return StringId(ends_.size() - 1);
}

std::size_t StringPool::slot_of(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>()(text) & mask;
  while (slots_[slot] != kFreeSlot && (*this)[StringId(slots_[slot])] != text) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

// Makes room for one more at a load of at most a half, and adds the strings that add() left out.
void StringPool::grow_slots() {
  if (2 * (ends_.size() + 1) > slots_.size()) {
    std::size_t wanted = std::max(kFirstSlots, slots_.size());
    while (wanted < 4 * (ends_.size() + 1)) wanted *= 2;
    slots_.assign(wanted, kFreeSlot);
    indexed_ = 0;
  }
  for (; indexed_ < ends_.size(); ++indexed_) {
    const std::size_t slot = slot_of((*this)[StringId(indexed_)]);
    if (slots_[slot] == kFreeSlot) slots_[slot] = static_cast<std::uint32_t>(indexed_);
  }
}

StringId StringPool::intern(std::string_view text) {
  grow_slots();
  const std::size_t slot = slot_of(text);
  if (slots_[slot] != kFreeSlot) return StringId(slots_[slot]);
  const StringId id = add(text);
  slots_[slot] = id.value();
  indexed_ = ends_.size();
  return id;
}

}  // namespace sonde
