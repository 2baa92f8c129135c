// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The parts of a Trace's tables: row numbers that know their table, and columns that take no memory
// until they hold a value.
//
//   Column<std::int32_t> rank(-1);      // -1 means "none"
//   rank.push_back(-1);                 // no memory yet
//   rank.push_back(3);                  // a vector from here on
//   rank[1] == 3

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "sonde/trace/packed_values.h"

namespace sonde {

// Nanoseconds since the Unix epoch on the trace's one clock, or a length of time.
using Nanos = std::int64_t;

// A row of the table that `Tag` identifies, or none.
template <typename Tag>
class Id {
 public:
  using TagType = Tag;
  static constexpr std::uint32_t kInvalid = 0xffffffff;

  constexpr Id() noexcept = default;
  constexpr explicit Id(std::uint32_t row) noexcept : row_(row) {}
  constexpr explicit Id(std::size_t row) noexcept : row_(static_cast<std::uint32_t>(row)) {}
  constexpr explicit Id(int row) noexcept : row_(static_cast<std::uint32_t>(row)) {}

  constexpr bool valid() const noexcept { return row_ != kInvalid; }
  constexpr std::uint32_t value() const noexcept { return row_; }
  constexpr std::size_t index() const noexcept { return row_; }

  friend constexpr bool operator==(Id a, Id b) noexcept { return a.row_ == b.row_; }
  friend constexpr bool operator!=(Id a, Id b) noexcept { return a.row_ != b.row_; }
  friend constexpr bool operator<(Id a, Id b) noexcept { return a.row_ < b.row_; }

 private:
  std::uint32_t row_ = kInvalid;
};

template <typename T>
struct IsId : std::false_type {};
template <typename Tag>
struct IsId<Id<Tag>> : std::true_type {};

// A range of neighbouring rows: for (SpanId span : trace.track_spans(track)) …
template <typename IdType>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t row) noexcept : row_(row) {}
    constexpr IdType operator*() const noexcept { return IdType(row_); }
    constexpr Iterator& operator++() noexcept {
      ++row_;
      return *this;
    }
    friend constexpr bool operator==(Iterator a, Iterator b) noexcept { return a.row_ == b.row_; }
    friend constexpr bool operator!=(Iterator a, Iterator b) noexcept { return a.row_ != b.row_; }

   private:
    std::uint32_t row_;
  };

  constexpr IdRange() noexcept = default;
  constexpr IdRange(std::uint32_t first, std::uint32_t last) noexcept
      : first_(first), last_(last) {}
  constexpr Iterator begin() const noexcept { return Iterator(first_); }
  constexpr Iterator end() const noexcept { return Iterator(last_); }
  constexpr std::size_t size() const noexcept { return last_ - first_; }
  constexpr bool empty() const noexcept { return first_ == last_; }
  constexpr IdType operator[](std::size_t i) const noexcept { return IdType(first_ + i); }

 private:
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
};

// The values of one column. While all are null, only their number is stored; after pack() they take
// a few bytes each. Reading is a test and one load, or three if they are packed. Writing is not
// thread-safe.
template <typename T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);
  using Packed = detail::PackedValues<T>;

 public:
  using ValueType = T;

  explicit Column(T null_value = T{}) : null_(null_value) {}
  Column(const Column& other) { *this = other; }
  Column(Column&& other) noexcept = default;
  ~Column() = default;
  Column& operator=(Column&& other) noexcept = default;
  Column& operator=(const Column& other) {
    if (this == &other) return *this;
    null_ = other.null_;
    null_rows_ = other.null_rows_;
    reserved_ = other.reserved_;
    packs_ = other.packs_;
    values_ = other.values_;
    packed_ = other.packed_ ? std::make_unique<Packed>(*other.packed_) : nullptr;
    return *this;
  }

  std::size_t size() const noexcept {
    if (packed_) return packed_->size();
    return values_.empty() ? null_rows_ : values_.size();
  }
  bool empty() const noexcept { return size() == 0; }
  // Whether a value other than null was ever set.
  bool materialised() const noexcept { return packed_ || !values_.empty(); }
  T null_value() const noexcept { return null_; }
  // size() values if materialised(), else null. Of a packed column they are unpacked when this is
  // first called, and take their full size from then on.
  const T* data() const {
    if (packed_) return packed_->flat();
    return values_.empty() ? nullptr : values_.data();
  }

  T operator[](std::size_t row) const noexcept {
    if (packed_) return (*packed_)[row];
    return values_.empty() ? null_ : values_[row];
  }
  template <typename Tag>
  T operator[](Id<Tag> row) const noexcept {
    return (*this)[row.index()];
  }

  bool is_null_at(std::size_t row) const noexcept { return is_null((*this)[row]); }

  // Keeps the values packed, those that it has and those that come. For columns that are filled in
  // order, whose neighbours are alike. Does nothing to floating point numbers.
  void pack() {
    if constexpr (std::is_floating_point_v<T>) return;
    packs_ = true;
    if (!packed_ && values_.size() >= detail::kPackedRows) pack_values();
  }
  bool packs() const noexcept { return packs_; }
  // Packs what is still unpacked because it was written last.
  void seal() {
    if (packed_) packed_->seal();
  }

  void push_back(T value) {
    if (packed_) return packed_->push_back(value);
    if (values_.empty()) {
      if (is_null(value)) {
        ++null_rows_;
        return;
      }
      materialise();
      if (packed_) return packed_->push_back(value);
    }
    values_.push_back(value);
    if (packs_ && values_.size() >= detail::kPackedRows) pack_values();
  }

  void set(std::size_t row, T value) {
    if (!materialised()) {
      if (is_null(value)) return;
      materialise();
    }
    if (packed_) return packed_->set(row, value);
    values_[row] = value;
  }
  template <typename Tag>
  void set(Id<Tag> row, T value) {
    set(row.index(), value);
  }

  // New rows are null.
  void resize(std::size_t rows) {
    if (rows == size()) return;
    if (rows == 0) return clear();
    if (!materialised()) {
      null_rows_ = rows;
    } else if (rows > size()) {
      fill(null_, rows - size());
    } else {
      unpack();
      values_.resize(rows);
      if (packs_) pack();
    }
  }

  // Takes effect when the first value is added.
  void reserve(std::size_t rows) {
    if (packs_) return;
    if (values_.empty()) {
      reserved_ = rows;
    } else {
      values_.reserve(rows);
    }
  }

  void clear() {
    values_ = {};
    packed_ = nullptr;
    null_rows_ = 0;
  }

  // size() writable values; null if there are no rows. They are not packed any more.
  T* mutable_data() {
    packs_ = false;
    unpack();
    materialise();
    return values_.empty() ? nullptr : values_.data();
  }

  // `count` times the same value.
  void fill(T value, std::size_t count) {
    if (count == 0) return;
    if (!materialised() && is_null(value)) {
      null_rows_ += count;
      return;
    }
    materialise();
    if (!packed_ && packs_ && values_.size() + count >= detail::kPackedRows) pack_values();
    if (packed_) return packed_->fill(value, count);
    grow(count);
    values_.insert(values_.end(), count, value);
  }

  void append(const T* first, std::size_t count) {
    if (!materialised() && all_null(first, count)) {
      null_rows_ += count;
      return;
    }
    materialise();
    if (!packed_ && packs_ && values_.size() + count >= detail::kPackedRows) pack_values();
    if (packed_) return packed_->append(first, count);
    grow(count);
    values_.insert(values_.end(), first, first + count);
  }

  void append(Column&& other) {
    const std::size_t count = other.size();
    if (count == 0) return;
    if (empty() && same(null_, other.null_)) {
      packs_ = packs_ || other.packs_;
      values_ = std::move(other.values_);
      packed_ = std::move(other.packed_);
      null_rows_ = other.null_rows_;
      if (packs_) pack();
    } else if (other.materialised()) {
      if (other.packs_) pack();
      other.visit_stretches(
          [this](std::size_t, const T* values, std::size_t rows) { append(values, rows); });
    } else {
      fill(other.null_, count);
    }
    other.clear();
  }

  // Replaces all values. Frees the memory if all are null.
  void assign(std::vector<T>&& values) {
    clear();
    null_rows_ = values.size();
    if (!all_null(values.data(), values.size())) values_ = std::move(values);
    if (packs_) pack();
  }

  // Calls visit(first row, values, count) for stretches of neighbouring rows, from the first to the
  // last; never if not materialised(). Faster than row by row.
  template <typename Visit>
  void visit_stretches(Visit&& visit) const {
    if (!packed_) {
      if (!values_.empty()) visit(std::size_t{0}, values_.data(), values_.size());
      return;
    }
    T values[detail::kPackedRows];
    for (std::size_t i = 0; i < packed_->blocks(); ++i)
      visit(i * detail::kPackedRows, static_cast<const T*>(values), packed_->unpack(i, values));
  }
  // The values of neighbouring rows, for loops over several columns at once.
  void read(std::size_t first, std::size_t count, T* out) const {
    if (packed_) return packed_->read(first, count, out);
    if (values_.empty()) {
      std::fill_n(out, count, null_);
    } else {
      std::copy_n(values_.data() + first, count, out);
    }
  }
  // The first row from `from` on, and before `to`, whose value passes; `to` if there is none.
  template <typename Passes>
  std::size_t find(std::size_t from, std::size_t to, const Passes& passes) const {
    if (packed_) return packed_->find(from, to, passes);
    if (values_.empty()) return from < to && passes(null_) ? from : to;
    const T* const values = values_.data();
    return static_cast<std::size_t>(std::find_if(values + from, values + to, passes) - values);
  }
  // The same with writable values; `change` returns whether it changed any.
  template <typename Change>
  void change_stretches(Change&& change) {
    if (packed_) return packed_->change_blocks(change);
    if (!values_.empty()) change(std::size_t{0}, values_.data(), values_.size());
  }
  // Whether it is certain, without reading them all, that every valid id is below `rows`.
  bool is_surely_below(std::size_t rows) { return packed_ && packed_->highest() < rows; }

  std::size_t memory_bytes() const noexcept {
    return values_.capacity() * sizeof(T) + (packed_ ? packed_->memory_bytes() : 0);
  }

  friend bool operator==(const Column& a, const Column& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) return false;
    }
    return true;
  }
  friend bool operator!=(const Column& a, const Column& b) { return !(a == b); }

 private:
  // Compares bits of floating point numbers: -0.0 and NaN are values to be kept.
  static bool same(const T& a, const T& b) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      static_assert(sizeof(T) == sizeof(std::uint64_t));
      std::uint64_t a_bits = 0;
      std::uint64_t b_bits = 0;
      std::memcpy(&a_bits, &a, sizeof(T));
      std::memcpy(&b_bits, &b, sizeof(T));
      return a_bits == b_bits;
    } else {
      return a == b;
    }
  }
  bool is_null(const T& value) const noexcept { return same(value, null_); }
  bool all_null(const T* first, std::size_t count) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_null(first[i])) return false;
    }
    return true;
  }

  void materialise() {
    if (materialised()) return;
    if (packs_ && null_rows_ >= detail::kPackedRows) {
      packed_ = std::make_unique<Packed>(null_);
      packed_->fill(null_, null_rows_);
      return;
    }
    values_.reserve(reserved_);
    values_.resize(null_rows_, null_);
  }

  void pack_values() {
    packed_ = std::make_unique<Packed>(null_);
    packed_->append(values_.data(), values_.size());
    values_ = {};
  }

  void unpack() {
    if (!packed_) return;
    values_.resize(packed_->size());
    for (std::size_t i = 0; i < packed_->blocks(); ++i)
      packed_->unpack(i, values_.data() + i * detail::kPackedRows);
    packed_ = nullptr;
  }

  void grow(std::size_t more) {
    const std::size_t needed = values_.size() + more;
    if (needed > values_.capacity()) {
      const std::size_t half_more = values_.capacity() + values_.capacity() / 2;
      values_.reserve(needed > half_more ? needed : half_more);
    }
  }

  T null_;
  std::size_t null_rows_ = 0;  // counts while values_ is empty
  std::size_t reserved_ = 0;
  bool packs_ = false;
  std::vector<T> values_;           // empty if packed_
  std::unique_ptr<Packed> packed_;  // all rows, once there are enough for a block
};

}  // namespace sonde

template <typename Tag>
struct std::hash<sonde::Id<Tag>> {
  std::size_t operator()(sonde::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>()(id.value());
  }
};
