// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/interned_inputs.h"

#include <algorithm>
#include <array>

#include "decode/note_decoder.h"

namespace sonde {
namespace {

constexpr std::size_t kFirstSlots = 256;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

// Four words at a time, because each multiplication waits for the one before.
std::uint64_t hash_of(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, 4> lanes = {words.size(), 1, 2, 3};
  std::size_t i = 0;
  for (; i + lanes.size() <= words.size(); i += lanes.size()) {
    for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k] = mixed(lanes[k], words[i + k]);
  }
  for (; i < words.size(); ++i) lanes[0] = mixed(lanes[0], words[i]);
  return mixed(mixed(mixed(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

}  // namespace

void InternedInputs::grow() {
  slots_.assign(std::max(kFirstSlots, slots_.size() * 2), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

bool InternedInputs::is_equal(std::uint32_t number, std::span<const std::uint64_t> payload) const {
  return std::ranges::equal(words_of(entries_[number]), payload);
}

// A loop calls the same operators in the same order: comparing with what came next last time is
// quicker than a hash.
std::uint32_t InternedInputs::number_of(std::span<const std::uint64_t> payload) {
  const std::uint32_t expected = last_ != kNone ? next_[last_] : kNone;
  if (expected != kNone && is_equal(expected, payload)) return last_ = expected;
  const std::uint32_t number = find(payload);
  next_.resize(entries_.size(), kNone);
  if (last_ != kNone) next_[last_] = number;
  return last_ = number;
}

std::uint32_t InternedInputs::find(std::span<const std::uint64_t> payload) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of(payload);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::uint32_t number = slots_[slot] - 1;
    if (entries_[number].hash == hash && is_equal(number, payload)) return number;
  }
  entries_.push_back({hash, words_.size(), payload.size()});
  words_.insert(words_.end(), payload.begin(), payload.end());
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return slots_[slot] - 1;
}

std::vector<std::string> InternedInputs::texts() const {
  std::vector<std::string> texts;
  texts.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const std::span<const std::uint64_t> words = words_of(entry);
    texts.push_back(bytes_of(words.subspan(1), words[0]));
  }
  return texts;
}

}  // namespace sonde
