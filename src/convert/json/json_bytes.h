// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The bytes of a text, followed by the zeros that json_text.h needs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde {

class PaddedBytes {
 public:
  // A regular file: read if it is small, mapped if it is large. If a mapped file is cut, the
  // process gets SIGBUS, unless it guards against that.
  static Result<PaddedBytes> map_file(const std::string& path);
  // A copy.
  static Result<PaddedBytes> copy_of(std::string_view text);
  // Empty, with room for `capacity` bytes that cost nothing until written.
  static Result<PaddedBytes> with_capacity(std::size_t capacity);

  PaddedBytes(PaddedBytes&& other) noexcept;
  PaddedBytes& operator=(PaddedBytes&& other) noexcept;
  PaddedBytes(const PaddedBytes&) = delete;
  PaddedBytes& operator=(const PaddedBytes&) = delete;
  ~PaddedBytes();

  const char* begin() const { return data_; }
  std::string_view text() const { return {data_, size_}; }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(data_), size_};
  }

  // Room for at least `bytes` after size(); add() makes what was written part of the text. Not for
  // files.
  Result<std::span<std::uint8_t>> room(std::size_t bytes);
  // Whether that leaves the text where it is.
  bool has_room(std::size_t bytes) const;
  void add(std::size_t bytes) { size_ += bytes; }
  // Gives whole pages of text back to the system; they read as zeros from then on. Not for files.
  static void forget(char* pages, std::size_t bytes);

 private:
  PaddedBytes() = default;
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // at least size_ + kJsonPadding
};

}  // namespace sonde
