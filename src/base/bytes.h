// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads and writes little-endian bytes. ByteReader never reads past its end: once something did not
// fit, ok() stays false and every read returns zero, so a parser may check once at the end.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sonde {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "files and live buffers are little-endian");

class ByteReader {
 public:
  ByteReader(const void* data, std::size_t size)
      : begin_(static_cast<const std::uint8_t*>(data)), at_(begin_), end_(begin_ + size) {}
  explicit ByteReader(std::span<const std::uint8_t> bytes)
      : ByteReader(bytes.data(), bytes.size()) {}

  bool ok() const { return ok_; }
  bool at_end() const { return at_ == end_; }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  void fail() {
    ok_ = false;
    at_ = end_;
  }

  template <typename T>
  T read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (remaining() < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  // LEB128, at most 10 bytes.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const std::uint8_t byte = *at_++;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }

  std::span<const std::uint8_t> bytes(std::size_t count) {
    if (remaining() < count) {
      fail();
      return {};
    }
    const std::span<const std::uint8_t> result(at_, count);
    at_ += count;
    return result;
  }

  // A varint length, then that many bytes. The view lives as long as the data.
  std::string_view string() {
    const std::uint64_t size = varint();
    if (size > remaining()) {
      fail();
      return {};
    }
    const auto view = bytes(static_cast<std::size_t>(size));
    return {reinterpret_cast<const char*>(view.data()), view.size()};
  }

 private:
  const std::uint8_t* begin_;
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

class ByteWriter {
 public:
  template <typename T>
  void write(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&value, sizeof(T));
  }
  void raw(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void string(std::string_view text) {
    varint(text.size());
    raw(text.data(), text.size());
  }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }
  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace sonde
