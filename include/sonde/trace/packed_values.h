// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a Column keeps its values in if it packs them. A block of 1024 neighbours takes as many
// bytes for each value as the range of these values needs: times, ids and sizes of neighbouring
// events are near one another, and what is the same in a whole block takes nothing. Blocks that are
// written to stay unpacked until others are written to, so writing may go back. Reading is
// thread-safe.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

namespace sonde::detail {

inline constexpr std::size_t kPackedRows = 1024;

// Memory of packed blocks, in large pieces that are freed together.
class PackedMemory {
 public:
  PackedMemory() = default;
  PackedMemory(PackedMemory&&) noexcept = default;
  PackedMemory& operator=(PackedMemory&&) noexcept = default;
  ~PackedMemory();

  // kPackedRows times `width` bytes, 1 to 8. Eight bytes from any of them on may be read.
  std::uint8_t* take(std::size_t width);
  void give_back(std::uint8_t* bytes, std::size_t width);
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const noexcept;
  };
  std::vector<std::unique_ptr<std::uint8_t[], Free>> pieces_;
  std::uint8_t* at_ = nullptr;  // what is left of the last piece
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
  std::array<std::vector<std::uint8_t*>, 9> spare_;  // by width
};

// The bits of a value as an unsigned number, and back. Differences of these are differences of the
// values.
template <typename T>
struct PackedBits {
  using Ordered = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  static std::uint64_t of(T value) noexcept {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::uint64_t>(value);
    } else {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      return bits;
    }
  }
  static T value(std::uint64_t bits) noexcept {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(bits);
    } else {
      T value;
      std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
      return value;
    }
  }
};

template <typename T>
class PackedValues {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  using Bits = PackedBits<T>;

 public:
  explicit PackedValues(T null_value) : null_(Bits::of(null_value)) {}
  PackedValues(const PackedValues& other) : PackedValues(Bits::value(other.null_)) {
    std::array<T, kPackedRows> values;
    for (std::size_t block = 0; block < other.blocks_.size(); ++block)
      append(values.data(), other.unpack(block, values.data()));
    seal();
  }
  PackedValues& operator=(const PackedValues&) = delete;
  ~PackedValues() { forget_flat(); }

  std::size_t size() const noexcept { return size_; }
  std::size_t blocks() const noexcept { return blocks_.size(); }

  T operator[](std::size_t row) const noexcept {
    const Block& block = blocks_[row / kPackedRows];
    return value_at(block, block.bytes + row % kPackedRows * block.width);
  }

  void push_back(T value) {
    const std::size_t at = size_ % kPackedRows;
    if (at == 0 || tail_ == nullptr || flat_.load(std::memory_order_relaxed) != nullptr)
      open_tail(at);
    std::memcpy(tail_ + at * sizeof(T), &value, sizeof(T));
    ++size_;
  }
  void append(const T* values, std::size_t count) {
    while (count > 0) {
      const std::size_t at = size_ % kPackedRows;
      std::size_t rows = kPackedRows - at;
      if (at == 0 && count >= kPackedRows) {  // a whole block, packed at once
        forget_flat();
        tail_ = nullptr;
        blocks_.emplace_back();
        pack(blocks_.back(), values, kPackedRows);
      } else {
        rows = count < rows ? count : rows;
        if (at == 0 || tail_ == nullptr || flat_.load(std::memory_order_relaxed) != nullptr)
          open_tail(at);
        std::memcpy(tail_ + at * sizeof(T), values, rows * sizeof(T));
      }
      size_ += rows;
      values += rows;
      count -= rows;
    }
  }
  void fill(T value, std::size_t count) {
    for (; count > 0 && size_ % kPackedRows != 0; --count) push_back(value);
    if (count >= kPackedRows) {
      forget_flat();
      tail_ = nullptr;
    }
    for (; count >= kPackedRows; count -= kPackedRows, size_ += kPackedRows) {
      blocks_.emplace_back();
      blocks_.back().zero = blocks_.back().high = Bits::of(value);
    }
    for (; count > 0; --count) push_back(value);
  }

  void set(std::size_t row, T value) {
    const std::size_t block = row / kPackedRows;
    if (!blocks_[block].is_loose) loosen(block, rows_of(block));
    std::memcpy(blocks_[block].bytes + row % kPackedRows * sizeof(T), &value, sizeof(T));
    forget_flat();
  }

  // The values of a block, up to kPackedRows of them; returns how many.
  std::size_t unpack(std::size_t number, T* out) const noexcept {
    const std::size_t rows = rows_of(number);
    unpack(blocks_[number], 0, rows, out);
    return rows;
  }
  // The values of `count` rows from `first` on.
  void read(std::size_t first, std::size_t count, T* out) const noexcept {
    while (count > 0) {
      const std::size_t at = first % kPackedRows;
      const std::size_t rows = count < kPackedRows - at ? count : kPackedRows - at;
      unpack(blocks_[first / kPackedRows], at, rows, out);
      first += rows;
      out += rows;
      count -= rows;
    }
  }
  // The first row from `from` on, and before `to`, whose value passes; `to` if there is none.
  template <typename Passes>
  std::size_t find(std::size_t from, std::size_t to, const Passes& passes) const noexcept {
    while (from < to) {
      const Block& block = blocks_[from / kPackedRows];
      const std::size_t first = from % kPackedRows;
      const std::size_t rows = std::min(kPackedRows - first, to - from);
      // The values of a block without bytes are all alike.
      const std::size_t read = block.width == 0 ? 1 : rows;
      const std::uint8_t* at = block.bytes + first * block.width;
      for (std::size_t i = 0; i < read; ++i, at += block.width)
        if (passes(value_at(block, at))) return from + i;
      from += rows;
    }
    return to;
  }
  // Calls change(first row, values, count) for each block, which returns whether it changed them.
  template <typename Change>
  void change_blocks(Change&& change) {
    seal();
    forget_flat();
    std::array<T, kPackedRows> values;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const std::size_t rows = unpack(i, values.data());
      if (!change(i * kPackedRows, values.data(), rows)) continue;
      forget(blocks_[i]);
      pack(blocks_[i], values.data(), rows);
    }
  }

  // No value but null is above this. Packs what is still loose.
  std::uint64_t highest() {
    static_assert(!std::is_signed_v<T>);
    seal();
    std::uint64_t highest = 0;
    for (const Block& block : blocks_) {
      if (block.high != null_ && block.high > highest) highest = block.high;
    }
    return highest;
  }

  // Packs what is still loose. Writing afterwards is allowed.
  void seal() {
    for (Loose& loose : loose_) {
      put_away(loose);
      loose.bytes.reset();
    }
    tail_ = nullptr;
  }

  // All values side by side, made when first asked for.
  const T* flat() const {
    // Pairs with the exchange below.
    if (const T* const made = flat_.load(std::memory_order_acquire)) return made;
    std::unique_ptr<T[]> values(new T[size_ + kPackedRows]);
    for (std::size_t i = 0; i < blocks_.size(); ++i) unpack(i, values.get() + i * kPackedRows);
    T* before = nullptr;
    if (flat_.compare_exchange_strong(before, values.get(), std::memory_order_acq_rel))
      return values.release();
    return before;
  }

  std::size_t memory_bytes() const noexcept {
    std::size_t bytes = memory_.bytes() + blocks_.capacity() * sizeof(Block);
    for (const Loose& loose : loose_) bytes += loose.bytes ? kLooseBytes : 0;
    if (flat_.load(std::memory_order_relaxed) != nullptr) bytes += size_ * sizeof(T);
    return bytes;
  }

 private:
  // A value is base + its bits, or `zero` if these are 0: the null value, or else the least.
  struct Block {
    std::uint8_t* bytes = nothing();
    std::uint64_t base = 0;
    std::uint64_t zero = 0;
    std::uint64_t mask = 0;
    std::uint64_t high = 0;   // the highest value; null if there is no other
    std::uint32_t width = 0;  // bytes each
    bool is_loose = false;    // sizeof(T) bytes each, in one of loose_
  };
  struct Loose {
    std::size_t block = kNone;
    std::unique_ptr<std::uint8_t[]> bytes;
  };
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kLooseBytes = kPackedRows * sizeof(T) + 8;
  static constexpr std::uint64_t kWholeMask = ~std::uint64_t{0} >> (64 - 8 * sizeof(T));

  // Where a block without bytes reads its zeros.
  static std::uint8_t* nothing() noexcept {
    static std::uint8_t zeros[8] = {};
    return zeros;
  }

  static T value_at(const Block& block, const std::uint8_t* at) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, sizeof(bits));
    bits &= block.mask;
    return Bits::value(bits == 0 ? block.zero : block.base + bits);
  }

  static void unpack(const Block& block, std::size_t first, std::size_t count, T* out) noexcept {
    const std::uint8_t* const at = block.bytes + first * block.width;
    switch (block.width) {
      case 0: {
        const T value = Bits::value(block.zero);
        for (std::size_t i = 0; i < count; ++i) out[i] = value;
        return;
      }
      case 1:
        return unpack_width<1>(block, at, count, out);
      case 2:
        return unpack_width<2>(block, at, count, out);
      case 3:
        return unpack_width<3>(block, at, count, out);
      case 4:
        return unpack_width<4>(block, at, count, out);
      case 5:
        return unpack_width<5>(block, at, count, out);
      case 6:
        return unpack_width<6>(block, at, count, out);
      case 7:
        return unpack_width<7>(block, at, count, out);
      default:
        return unpack_width<8>(block, at, count, out);
    }
  }
  // A loop for each width is two or three times as fast as one for all.
  template <std::size_t Width>
  static void unpack_width(const Block& block, const std::uint8_t* at, std::size_t count,
                           T* out) noexcept {
    if constexpr (Width <= sizeof(T)) {
      using Stored = std::conditional_t<
          Width == 1, std::uint8_t,
          std::conditional_t<Width == 2, std::uint16_t,
                             std::conditional_t<Width <= 4, std::uint32_t, std::uint64_t>>>;
      constexpr std::uint64_t kMask = ~std::uint64_t{0} >> (64 - 8 * Width);
      const auto bits_at = [at](std::size_t i) {
        Stored stored = 0;
        std::memcpy(&stored, at + i * Width, sizeof(stored));
        return stored & kMask;
      };
      const std::uint64_t base = block.base;
      const std::uint64_t zero = block.zero;
      if (zero == base) {
        for (std::size_t i = 0; i < count; ++i) out[i] = Bits::value(base + bits_at(i));
      } else {
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t bits = bits_at(i);
          out[i] = Bits::value(bits == 0 ? zero : base + bits);
        }
      }
    }
  }

  std::size_t rows_of(std::size_t block) const noexcept {
    const std::size_t first = block * kPackedRows;
    return size_ - first < kPackedRows ? size_ - first : kPackedRows;
  }

  [[gnu::noinline]] void open_tail(std::size_t at) {
    forget_flat();
    if (at == 0) blocks_.emplace_back();
    tail_ = loosen(blocks_.size() - 1, at);
  }

  // Unpacks a block for writing. The last block stays loose until it is full and a little longer,
  // because spans end after others have begun.
  std::uint8_t* loosen(std::size_t number, std::size_t rows) {
    if (blocks_[number].is_loose) return blocks_[number].bytes;
    Loose& loose = loose_[next_loose_];
    next_loose_ = (next_loose_ + 1) % loose_.size();
    if (loose.block != kNone && loose.block + 1 == blocks_.size() && number != loose.block)
      return loosen(number, rows);  // the next one
    put_away(loose);
    if (!loose.bytes) loose.bytes.reset(new std::uint8_t[kLooseBytes]());
    Block& block = blocks_[number];
    if (rows > 0) {
      std::array<T, kPackedRows> values;
      unpack(number, values.data());
      std::memcpy(loose.bytes.get(), values.data(), rows * sizeof(T));
    }
    forget(block);
    block.bytes = loose.bytes.get();
    block.mask = kWholeMask;
    block.width = sizeof(T);
    block.is_loose = true;
    loose.block = number;
    return block.bytes;
  }

  void forget_flat() noexcept {
    if (const T* const made = flat_.load(std::memory_order_relaxed)) {
      delete[] made;
      flat_.store(nullptr, std::memory_order_relaxed);
    }
  }

  void put_away(Loose& loose) {
    if (loose.block == kNone) return;
    Block& block = blocks_[loose.block];
    if (block.bytes == tail_) tail_ = nullptr;
    block.is_loose = false;
    block.width = 0;
    std::array<T, kPackedRows> values;
    const std::size_t rows = rows_of(loose.block);
    std::memcpy(values.data(), loose.bytes.get(), rows * sizeof(T));
    pack(block, values.data(), rows);
    loose.block = kNone;
  }

  void forget(Block& block) {
    if (block.width != 0) memory_.give_back(block.bytes, block.width);
    block = Block();
  }

  // Fills a block that has no bytes.
  void pack(Block& block, const T* values, std::size_t rows) {
    block = Block();
    block.zero = block.high = Bits::of(values[0]);
    if (rows == 1 || std::memcmp(values, values + 1, (rows - 1) * sizeof(T)) == 0) return;
    using Ordered = typename Bits::Ordered;
    Ordered low = std::numeric_limits<Ordered>::max();
    Ordered high = std::numeric_limits<Ordered>::min();
    std::uint64_t has_null = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const std::uint64_t bits = Bits::of(values[i]);
      const auto value = static_cast<Ordered>(bits);
      const bool is_null = bits == null_;
      has_null |= is_null ? 1 : 0;
      low = !is_null && value < low ? value : low;
      high = !is_null && value > high ? value : high;
    }
    // The values differ, so there is one besides null.
    const std::uint64_t least = static_cast<std::uint64_t>(low);
    const std::uint64_t range = static_cast<std::uint64_t>(high) - least;
    std::size_t width = 1;
    while (width < sizeof(T) && range > (~std::uint64_t{0} >> (64 - 8 * width)) - has_null) ++width;
    block.high = static_cast<std::uint64_t>(high);
    block.bytes = memory_.take(width);
    block.width = static_cast<std::uint32_t>(width);
    block.mask = ~std::uint64_t{0} >> (64 - 8 * width);
    if (width == sizeof(T)) {  // as they are
      block.zero = 0;
      std::memcpy(block.bytes, values, rows * sizeof(T));
      return;
    }
    block.base = least - has_null;
    block.zero = has_null != 0 ? null_ : least;
    const std::uint64_t base = block.base;
    if (has_null != 0) {
      const std::uint64_t null = null_;
      write_packed(block.bytes, width, rows, [=](std::size_t i) {
        const std::uint64_t bits = Bits::of(values[i]);
        return bits == null ? 0 : bits - base;
      });
    } else {
      write_packed(block.bytes, width, rows,
                   [=](std::size_t i) { return Bits::of(values[i]) - base; });
    }
  }

  // Eight bytes at once, of which the next value overwrites what is too much, except near the end.
  template <typename BitsAt>
  static void write_packed(std::uint8_t* at, std::size_t width, std::size_t rows,
                           const BitsAt& bits_at) {
    const std::size_t whole = rows > 8 ? rows - 8 : 0;
    for (std::size_t i = 0; i < whole; ++i, at += width) {
      const std::uint64_t bits = bits_at(i);
      std::memcpy(at, &bits, sizeof(bits));
    }
    for (std::size_t i = whole; i < rows; ++i, at += width) {
      const std::uint64_t bits = bits_at(i);
      std::memcpy(at, &bits, width);
    }
  }

  std::uint64_t null_;
  std::vector<Block> blocks_;
  std::size_t size_ = 0;
  std::uint8_t* tail_ = nullptr;  // of the last block, if it is loose
  std::array<Loose, 3> loose_;
  std::size_t next_loose_ = 0;
  PackedMemory memory_;
  mutable std::atomic<T*> flat_{nullptr};
};

}  // namespace sonde::detail
