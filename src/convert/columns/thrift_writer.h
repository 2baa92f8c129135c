// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Thrift's compact protocol, as far as Parquet's metadata needs it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

class ThriftWriter {
 public:
  enum class Type : std::uint8_t { Int32 = 5, Int64 = 6, Text = 8, List = 9, Struct = 12 };

  void int32(int field, std::int32_t value) {
    begin_field(field, Type::Int32);
    zigzag(value);
  }
  void int64(int field, std::int64_t value) {
    begin_field(field, Type::Int64);
    zigzag(value);
  }
  void text(int field, std::string_view value) {
    begin_field(field, Type::Text);
    bare_text(value);
  }
  // Elements follow: int32s by bare_int32(), texts by bare_text(), structs by begin() and end().
  void list(int field, std::size_t size, Type element) {
    constexpr std::size_t kShort = 15;
    begin_field(field, Type::List);
    if (size < kShort) {
      out_ += static_cast<char>(size << 4U | static_cast<std::size_t>(element));
    } else {
      out_ += static_cast<char>(0xf0U | static_cast<unsigned>(element));
      varint(size);
    }
  }
  void bare_int32(std::int32_t value) { zigzag(value); }
  void bare_text(std::string_view value) {
    varint(value.size());
    out_ += value;
  }
  void begin(int field) {
    begin_field(field, Type::Struct);
    begin();
  }
  void begin() { last_field_.push_back(0); }
  void end() {
    out_ += '\0';
    last_field_.pop_back();
  }
  // Ends the outermost struct.
  std::string take() {
    out_ += '\0';
    return std::move(out_);
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) out_ += static_cast<char>(value | 128U);
    out_ += static_cast<char>(value);
  }
  void zigzag(std::int64_t value) {
    varint(static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63));
  }
  void begin_field(int field, Type type) {
    const int step = field - last_field_.back();
    if (step > 0 && step < 16) {
      out_ += static_cast<char>(step << 4 | static_cast<int>(type));
    } else {
      out_ += static_cast<char>(type);
      zigzag(field);
    }
    last_field_.back() = field;
  }

  std::string out_;
  std::vector<int> last_field_{0};
};

}  // namespace sonde
