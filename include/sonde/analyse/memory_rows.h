// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Blocks of memory and what happened to them, as a MemoryProfile lists them: see memory.h. There
// may be many millions, so their columns are packed, and a row is made when it is asked for.
//
//   const MemoryBlock block = device.blocks[event.block];
//   const std::int64_t bytes = device.blocks.bytes(event.block);   // if nothing else is wanted

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "sonde/trace.h"

namespace sonde {

// In the order of PyTorch's columns.
enum class MemoryCategory : std::uint8_t {
  Parameter,
  OptimizerState,
  Input,
  Temporary,  // lives within one operator
  Activation,
  Gradient,
  AutogradDetail,  // intermediate results of gradients
  Unknown,
};
inline constexpr std::size_t kMemoryCategories = 8;
// "parameter", "optimizer_state", …
std::string_view to_string(MemoryCategory category) noexcept;

using BytesByCategory = std::array<std::int64_t, kMemoryCategories>;

// The numbers are PyTorch's.
enum class MemoryAction : std::uint8_t { Preexisting = 1, Create, IncrementVersion, Destroy };

struct MemoryBlock {
  std::uint64_t address = 0;  // 0 if unknown
  std::int64_t bytes = 0;     // if it was held before and never freed: estimated from its tensors
  AllocationId birth;         // invalid if it was held before recording began
  AllocationId death;         // invalid if it was still held at the end
  SpanId span;                // the innermost span around its allocation
  // The program's call in which it was allocated: the outermost operator, or the call of a
  // gradient.
  SpanId op;
};

struct MemoryEvent {
  Nanos time_ns = 0;  // kBeforeRecording for Preexisting
  std::uint32_t block = 0;
  MemoryAction action = MemoryAction::Create;
  // The category before and after. They differ only for IncrementVersion, when the block was
  // written to.
  MemoryCategory from = MemoryCategory::Unknown;
  MemoryCategory to = MemoryCategory::Unknown;
};
inline constexpr Nanos kBeforeRecording = -1;

namespace detail {

// Goes through rows that are made when they are asked for.
template <typename Rows, typename Row>
class MadeRowIterator {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the standard's names
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Row;
  using difference_type = std::ptrdiff_t;
  using pointer = const Row*;
  using reference = Row;
  // NOLINTEND(readability-identifier-naming)

  MadeRowIterator() = default;
  MadeRowIterator(const Rows& rows, std::size_t at) : rows_(&rows), at_(at) {}
  Row operator*() const noexcept { return (*rows_)[at_]; }
  MadeRowIterator& operator++() noexcept { return *this += 1; }
  MadeRowIterator& operator--() noexcept { return *this += -1; }
  MadeRowIterator& operator+=(difference_type by) noexcept {
    at_ = static_cast<std::size_t>(static_cast<difference_type>(at_) + by);
    return *this;
  }
  friend difference_type operator-(MadeRowIterator a, MadeRowIterator b) noexcept {
    return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
  }
  friend bool operator==(MadeRowIterator a, MadeRowIterator b) noexcept { return a.at_ == b.at_; }
  friend bool operator!=(MadeRowIterator a, MadeRowIterator b) noexcept { return a.at_ != b.at_; }

 private:
  const Rows* rows_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace detail

// Blocks by number.
class MemoryBlocks {
 public:
  using Iterator = detail::MadeRowIterator<MemoryBlocks, MemoryBlock>;

  MemoryBlocks() { address_.pack(), bytes_.pack(), birth_.pack(), span_.pack(), op_.pack(); }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  MemoryBlock operator[](std::size_t number) const noexcept {
    return {address_[number], bytes_[number], birth_[number],
            death_[number],   span_[number],  op_[number]};
  }
  std::int64_t bytes(std::size_t number) const noexcept { return bytes_[number]; }
  AllocationId birth(std::size_t number) const noexcept { return birth_[number]; }
  AllocationId death(std::size_t number) const noexcept { return death_[number]; }
  SpanId span(std::size_t number) const noexcept { return span_[number]; }
  Iterator begin() const noexcept { return {*this, 0}; }
  Iterator end() const noexcept { return {*this, size()}; }

  void reserve(std::size_t blocks) { death_.reserve(blocks); }
  void push_back(const MemoryBlock& block) {
    address_.push_back(block.address);
    bytes_.push_back(block.bytes);
    birth_.push_back(block.birth);
    death_.push_back(block.death);
    span_.push_back(block.span);
    op_.push_back(block.op);
  }
  void set_bytes(std::size_t number, std::int64_t bytes) { bytes_.set(number, bytes); }
  void set_death(std::size_t number, AllocationId death) { death_.set(number, death); }
  void set_ops(Column<SpanId>&& ops) { op_ = std::move(ops); }

 private:
  Column<std::uint64_t> address_;
  Column<std::int64_t> bytes_;
  Column<AllocationId> birth_;
  Column<AllocationId> death_;  // not packed: blocks die in any order
  Column<SpanId> span_;
  Column<SpanId> op_;
};

// Events by number.
class MemoryEvents {
 public:
  using Iterator = detail::MadeRowIterator<MemoryEvents, MemoryEvent>;

  MemoryEvents() { time_ns_.pack(), block_.pack(), what_.pack(); }
  std::size_t size() const noexcept { return block_.size(); }
  bool empty() const noexcept { return block_.empty(); }
  MemoryEvent operator[](std::size_t number) const noexcept {
    return event_of(time_ns_[number], block_[number], what_[number]);
  }
  MemoryEvent back() const noexcept { return (*this)[size() - 1]; }
  Iterator begin() const noexcept { return {*this, 0}; }
  Iterator end() const noexcept { return {*this, size()}; }
  // Up to kAtOnce events from `first` on, which is faster than one by one; returns how many.
  static constexpr std::size_t kAtOnce = 128;
  std::size_t read(std::size_t first, MemoryEvent* out) const noexcept {
    const std::size_t count = size() - first < kAtOnce ? size() - first : kAtOnce;
    std::array<Nanos, kAtOnce> time_ns{};
    std::array<std::uint32_t, kAtOnce> block{};
    std::array<std::uint8_t, kAtOnce> what{};
    time_ns_.read(first, count, time_ns.data());
    block_.read(first, count, block.data());
    what_.read(first, count, what.data());
    for (std::size_t i = 0; i < count; ++i) out[i] = event_of(time_ns[i], block[i], what[i]);
    return count;
  }

  void push_back(const MemoryEvent& event) {
    time_ns_.push_back(event.time_ns);
    block_.push_back(event.block);
    what_.push_back(static_cast<std::uint8_t>((static_cast<unsigned>(event.action) - 1) |
                                              static_cast<unsigned>(event.from) << 2 |
                                              static_cast<unsigned>(event.to) << 5));
  }

 private:
  static MemoryEvent event_of(Nanos time_ns, std::uint32_t block, unsigned what) noexcept {
    return {time_ns, block, static_cast<MemoryAction>((what & 3) + 1),
            static_cast<MemoryCategory>(what >> 2 & 7), static_cast<MemoryCategory>(what >> 5)};
  }

  Column<Nanos> time_ns_;
  Column<std::uint32_t> block_;
  Column<std::uint8_t> what_;  // the action and both categories
};

}  // namespace sonde
