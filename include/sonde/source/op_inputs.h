// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The arguments of an operator, packed into the words that sonde_op_inputs takes.
//
//   sonde::OpInputs inputs;             // 8 KiB; keep one per thread, and clear() it
//   inputs.tensor(float_name, sizes, 2, strides, 2);
//   inputs.scalar("0.5");
//   sonde_op_inputs(inputs.words(), inputs.word_count());
//
// Calls with the same arguments have the same words, and a trace keeps them once. Nothing is
// allocated. An argument that does not fit is recorded as unknown.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "sonde/detail/words.h"

namespace sonde {

class OpInputs {
 public:
  // The byte before each argument.
  using Tag = std::uint8_t;
  static constexpr Tag kNone = 0;
  static constexpr Tag kTensor = 1;
  static constexpr Tag kTensorList = 2;
  static constexpr Tag kScalar = 3;
  static constexpr Tag kScalarList = 4;
  static constexpr Tag kString = 5;
  static constexpr Tag kDevice = 6;   // the device of the next tensor: type, index + 1
  static constexpr Tag kKeyword = 7;  // the next argument is passed by keyword: its name

  void clear() noexcept { used_ = left_in_list_ = left_out_ = 0; }
  bool empty() const noexcept { return used_ == 0; }

  void none() noexcept {
    if (is_next()) put(kNone);
  }

  // `dtype` is a number from sonde_name. A layout without strides has 0 of them.
  void tensor(std::uint32_t dtype, const std::int64_t* sizes, std::size_t dims,
              const std::int64_t* strides, std::size_t stride_count) noexcept {
    if (!is_next()) return;
    if (!has_room(1 + 5 + 2 * 5 + (dims + stride_count) * kMostOfANumber)) return put(kNone);
    unsigned char* at = end();
    *at++ = kTensor;
    at = numbers(numbers(number(at, dtype), sizes, dims), strides, stride_count);
    end_at(at);
  }
  // Sets the device of the next tensor(), by PyTorch's DeviceType. Do not call it for host memory.
  void device(std::uint8_t type, std::int32_t index) noexcept {
    if (left_out_ > 0 || !has_room(1 + 2 * kMostOfANumber)) return;
    unsigned char* at = end();
    *at++ = kDevice;
    end_at(number(number(at, type), static_cast<std::uint32_t>(index + 1)));
  }
  // An argument that is passed by keyword; these come last. The value is JSON, or a text that is
  // none. False if it does not fit.
  bool keyword(std::string_view name, std::string_view value) noexcept {
    if (!has_room(2 + 2 * kMostOfANumber + name.size() + value.size())) return false;
    text_of(kKeyword, name);
    text_of(kString, value);
    return true;
  }
  // `count` tensors follow, each by tensor() or none(). A list too long for one byte per tensor is
  // recorded as unknown.
  void tensor_list(std::size_t count) noexcept {
    if (!has_room(1 + kMostOfANumber + count)) {
      put(kNone);
      left_out_ = count;
      return;
    }
    unsigned char* at = end();
    *at++ = kTensorList;
    end_at(number(at, count));
    left_in_list_ = count;
  }

  void scalar(std::string_view text) noexcept { text_of(kScalar, text); }
  void scalar_list(std::string_view text) noexcept { text_of(kScalarList, text); }
  void string(std::string_view text) noexcept { text_of(kString, text); }

  const std::uint64_t* words() noexcept {
    words_[0] = used_;
    return words_;
  }
  std::size_t word_count() const noexcept { return used_ == 0 ? 0 : 1 + (used_ + 7) / 8; }

 private:
  static constexpr std::size_t kMostOfANumber = 10;
  // Some bytes stay free, so that unknown arguments always fit.
  static constexpr std::size_t kCapacity = std::size_t{detail::kMaxPayloadWords - 1} * 8;
  static constexpr std::size_t kReserve = 512;

  unsigned char* bytes() noexcept { return reinterpret_cast<unsigned char*>(words_ + 1); }
  bool has_room(std::size_t bytes) const noexcept {
    return used_ + bytes + left_in_list_ + kReserve <= kCapacity;
  }
  // Whether the next argument is written: not if it belongs to a list that was left out.
  bool is_next() noexcept {
    if (left_out_ > 0) {
      --left_out_;
      return false;
    }
    if (left_in_list_ > 0) --left_in_list_;
    return true;
  }

  // The bytes after the last one, up to the end of its word, are always 0.
  void put(std::uint8_t byte) noexcept {
    if (used_ == kCapacity) return;
    if (used_ % 8 == 0) words_[1 + used_ / 8] = 0;
    bytes()[used_++] = byte;
  }
  // What has room is written through a pointer of its own: the members may not be in registers
  // while bytes are written.
  unsigned char* end() noexcept { return bytes() + used_; }
  void end_at(unsigned char* at) noexcept {
    std::memset(at, 0, 8);  // kReserve is free behind it
    used_ = static_cast<std::size_t>(at - bytes());
  }
  static unsigned char* number(unsigned char* at, std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<unsigned char>(value | 0x80);
    *at++ = static_cast<unsigned char>(value);
    return at;
  }
  static unsigned char* numbers(unsigned char* at, const std::int64_t* values,
                                std::size_t count) noexcept {
    at = number(at, count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t value = values[i];
      at = number(
          at, (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
    }
    return at;
  }
  void text_of(Tag tag, std::string_view text) noexcept {
    if (!has_room(1 + kMostOfANumber + text.size())) return put(kNone);
    unsigned char* at = end();
    *at++ = tag;
    at = number(at, text.size());
    std::memcpy(at, text.data(), text.size());
    end_at(at + text.size());
  }

  std::size_t used_ = 0;
  std::size_t left_in_list_ = 0;  // tensors still to come, at least a byte each
  std::size_t left_out_ = 0;      // the same for a list that was left out
  std::uint64_t words_[detail::kMaxPayloadWords];
};

}  // namespace sonde
