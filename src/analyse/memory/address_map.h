// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Numbers by address, for millions of look-ups. Uses open addressing; nothing is ever removed.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sonde::detail {

class AddressMap {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  AddressMap() : slots_(kFirstSize) {}

  // kNone if the address is unknown.
  std::uint32_t find(std::uint64_t address) const noexcept { return slots_[slot(address)].value; }

  // `value` must not be kNone.
  void set(std::uint64_t address, std::uint32_t value) {
    Slot& found = slots_[slot(address)];
    const bool is_new = found.value == kNone;
    found = {address, value};
    if (is_new && ++used_ * 2 > slots_.size()) grow();
  }

 private:
  struct Slot {
    std::uint64_t address = 0;
    std::uint32_t value = kNone;
  };
  static constexpr std::size_t kFirstSize = 64;

  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
  std::size_t home(std::uint64_t address) const noexcept {
    constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
    const std::uint64_t mixed = address * kSpread;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32)) & mask();
  }
  std::size_t slot(std::uint64_t address) const noexcept {
    std::size_t at = home(address);
    while (slots_[at].value != kNone && slots_[at].address != address) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& item : old) {
      if (item.value != kNone) slots_[slot(item.address)] = item;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace sonde::detail
