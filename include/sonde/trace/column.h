// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The parts of a Trace's tables: row numbers that know their table, and columns that take no memory
// until they hold a value.
//
//   Column<std::int32_t> rank(-1);      // -1 means "none"
//   rank.push_back(-1);                 // no memory yet
//   rank.push_back(3);                  // a vector from here on
//   rank[1] == 3

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

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

// The values of one column. While all are null, only their number is stored. Reading is one test
// and one load. Writing is not thread-safe.
template <typename T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using ValueType = T;

  explicit Column(T null_value = T{}) : null_(null_value) {}

  std::size_t size() const noexcept { return values_.empty() ? null_rows_ : values_.size(); }
  bool empty() const noexcept { return size() == 0; }
  // Whether a value other than null was ever set.
  bool materialised() const noexcept { return !values_.empty(); }
  T null_value() const noexcept { return null_; }
  // size() values if materialised(), else null.
  const T* data() const noexcept { return values_.empty() ? nullptr : values_.data(); }

  T operator[](std::size_t row) const noexcept { return values_.empty() ? null_ : values_[row]; }
  template <typename Tag>
  T operator[](Id<Tag> row) const noexcept {
    return (*this)[row.index()];
  }

  bool is_null_at(std::size_t row) const noexcept {
    return values_.empty() || is_null(values_[row]);
  }

  void push_back(T value) {
    if (values_.empty()) {
      if (is_null(value)) {
        ++null_rows_;
        return;
      }
      values_.reserve(reserved_);
      values_.resize(null_rows_, null_);
    }
    values_.push_back(value);
  }

  void set(std::size_t row, T value) {
    if (values_.empty() && is_null(value)) return;
    materialise();
    values_[row] = value;
  }
  template <typename Tag>
  void set(Id<Tag> row, T value) {
    set(row.index(), value);
  }

  // New rows are null.
  void resize(std::size_t rows) {
    if (values_.empty()) {
      null_rows_ = rows;
    } else if (rows == 0) {
      clear();
    } else {
      values_.resize(rows, null_);
    }
  }

  // Takes effect when the first value is added.
  void reserve(std::size_t rows) {
    if (values_.empty()) {
      reserved_ = rows;
    } else {
      values_.reserve(rows);
    }
  }

  void clear() {
    values_ = {};
    null_rows_ = 0;
  }

  // size() writable values; null if there are no rows.
  T* mutable_data() {
    materialise();
    return values_.empty() ? nullptr : values_.data();
  }

  void append(const T* first, std::size_t count) {
    if (!materialised() && all_null(first, count)) {
      null_rows_ += count;
      return;
    }
    materialise();
    grow(count);
    values_.insert(values_.end(), first, first + count);
  }

  void append(Column&& other) {
    const std::size_t count = other.size();
    if (count == 0) return;
    if (empty() && same(null_, other.null_)) {
      values_ = std::move(other.values_);
      null_rows_ = other.null_rows_;
    } else if (other.materialised()) {
      append(other.data(), count);
    } else if (!materialised() && same(null_, other.null_)) {
      null_rows_ += count;
    } else {
      materialise();
      grow(count);
      values_.insert(values_.end(), count, other.null_);
    }
    other.clear();
  }

  // Replaces all values. Frees the memory if all are null.
  void assign(std::vector<T>&& values) {
    null_rows_ = values.size();
    values_ = all_null(values.data(), values.size()) ? std::vector<T>() : std::move(values);
  }

  std::size_t memory_bytes() const noexcept { return values_.capacity() * sizeof(T); }

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
    if (!values_.empty()) return;
    values_.reserve(reserved_);
    values_.resize(null_rows_, null_);
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
  std::vector<T> values_;
};

}  // namespace sonde

template <typename Tag>
struct std::hash<sonde::Id<Tag>> {
  std::size_t operator()(sonde::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>()(id.value());
  }
};
