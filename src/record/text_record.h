// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Records that hold a text. One longer than a record goes on in MoreText records, up to
// kMaxTextBytes; the first says how long it really is, so that readers see whether it was cut.

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "record/write.h"

namespace sonde::detail {

// The words of a record that is being put together.
class RecordWords {
 public:
  std::uint32_t used() const noexcept { return used_; }
  std::uint32_t left() const noexcept { return kMaxPayloadWords - used_; }
  const std::uint64_t* data() const noexcept { return words_.data(); }
  void clear() noexcept { used_ = 0; }
  // Only while some are left.
  void add(std::uint64_t word) noexcept { words_[used_++] = word; }
  // As much of the text as fits, padded with zeros; returns what is left of it.
  std::string_view add_text(std::string_view text) noexcept {
    const std::string_view part = text.substr(0, std::size_t{left()} * 8);
    if (part.empty()) return text;
    const auto count = static_cast<std::uint32_t>((part.size() + 7) / 8);
    words_[used_ + count - 1] = 0;
    std::memcpy(words_.data() + used_, part.data(), part.size());
    used_ += count;
    return text.substr(part.size());
  }

 private:
  std::array<std::uint64_t, kMaxPayloadWords> words_;
  std::uint32_t used_ = 0;
};

// Adds the text to `words` and writes them as a record of that kind, then what did not fit.
inline Written write_with_text(ExtendedKind kind, RecordWords& words, std::string_view text,
                               Loss loss) noexcept {
  std::string_view rest = words.add_text(text.substr(0, kMaxTextBytes));
  const Written written = write_record(kind, words.data(), words.used(), loss);
  for (bool going = written.position != 0; going && !rest.empty();) {
    words.clear();
    rest = words.add_text(rest);
    going =
        write_record(ExtendedKind::MoreText, words.data(), words.used(), Loss::Other).position != 0;
  }
  return written;
}

// A record that is nothing but a text: its length, then its bytes.
inline Written write_text(ExtendedKind kind, std::string_view text, Loss loss) noexcept {
  RecordWords words;
  words.add(text.size());
  return write_with_text(kind, words, text, loss);
}

}  // namespace sonde::detail
