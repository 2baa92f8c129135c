// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes the few kinds of FlatBuffers values that Arrow's messages consist of. A buffer is written
// from its end to its beginning, so that what is referred to is there already.
//
//   FlatBuffer out;
//   const FlatBuffer::Place name = out.text("spans");
//   const FlatBuffer::Place root = out.table({FlatBuffer::refers(0, name), FlatBuffer::value(1, true)});
//   const std::string bytes = out.finish(root);

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sonde {

class FlatBuffer {
 public:
  using Place = std::uint32_t;  // bytes from the end of the buffer

  struct Slot {
    unsigned number = 0;  // of the field in its table
    unsigned size = 0;    // in bytes; 0: `place` is what it refers to
    std::int64_t bits = 0;
    Place place = 0;
  };
  template <typename T>
  static Slot value(unsigned number, T bits) {
    return {number, sizeof(T), static_cast<std::int64_t>(bits), 0};
  }
  static Slot refers(unsigned number, Place place) { return {number, 0, 0, place}; }

  Place text(std::string_view characters) {
    align(4, characters.size() + 1);
    put(std::uint8_t{0});
    bytes_.insert(0, characters);
    put(static_cast<std::uint32_t>(characters.size()));
    return here();
  }
  Place list(const std::vector<Place>& places) {
    align(4, places.size() * 4);
    for (auto place = places.rbegin(); place != places.rend(); ++place) put_reference(*place);
    put(static_cast<std::uint32_t>(places.size()));
    return here();
  }
  // A list of structs of two numbers.
  Place pairs(const std::vector<std::pair<std::int64_t, std::int64_t>>& values) {
    align(8, values.size() * 16);
    for (auto each = values.rbegin(); each != values.rend(); ++each) {
      put(each->second);
      put(each->first);
    }
    put(static_cast<std::uint32_t>(values.size()));
    return here();
  }
  Place table(std::vector<Slot> slots) {
    std::stable_sort(slots.begin(), slots.end(),
                     [](const Slot& a, const Slot& b) { return bytes_of(a) > bytes_of(b); });
    const std::size_t end = bytes_.size();
    unsigned count = 0;
    std::vector<std::pair<unsigned, Place>> fields;
    // The largest lie first, so they are written last.
    for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
      put_slot(*slot);
      fields.emplace_back(slot->number, here());
      count = std::max(count, slot->number + 1);
    }
    align(4, 0);
    const Place begin = here() + 4;
    std::vector<std::uint16_t> offsets(count, 0);
    for (const auto& [number, place] : fields)
      offsets[number] = static_cast<std::uint16_t>(begin - place);
    const auto vtable_bytes = static_cast<std::uint16_t>(4 + 2 * count);
    put(static_cast<std::int32_t>(vtable_bytes));
    const auto table_bytes = static_cast<std::uint16_t>(bytes_.size() - end);
    for (auto offset = offsets.rbegin(); offset != offsets.rend(); ++offset) put(*offset);
    put(table_bytes);
    put(vtable_bytes);
    return begin;
  }
  std::string finish(Place root) {
    align(8, 4);
    put_reference(root);
    return std::move(bytes_);
  }

 private:
  static unsigned bytes_of(const Slot& slot) { return slot.size == 0 ? 4 : slot.size; }
  Place here() const { return static_cast<Place>(bytes_.size()); }
  // So that after `more` bytes the next is at a multiple of `size` from the end.
  void align(std::size_t size, std::size_t more) {
    const std::size_t over = (bytes_.size() + more) % size;
    if (over != 0) bytes_.insert(0, size - over, '\0');
  }
  template <typename T>
  void put(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.insert(0, raw, sizeof(T));
  }
  void put_reference(Place place) { put(here() + 4 - place); }
  void put_slot(const Slot& slot) {
    align(bytes_of(slot), bytes_of(slot));
    if (slot.size == 0) return put_reference(slot.place);
    char raw[sizeof(slot.bits)];
    std::memcpy(raw, &slot.bits, sizeof(slot.bits));
    bytes_.insert(0, raw, slot.size);  // little-endian
  }

  std::string bytes_;
};

}  // namespace sonde
