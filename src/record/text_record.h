// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Records that hold a text. A text that does not fit continues in MoreText records, up to
// kMaxTextBytes. The first record has the full length, so readers see whether the text was cut.

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "record/write.h"

namespace sonde::detail {

// The words of a record under construction. Few enough to fit on any stack.
class RecordWords {
 public:
  std::uint32_t used() const noexcept { return used_; }
  std::uint32_t left() const noexcept { return static_cast<std::uint32_t>(words_.size()) - used_; }
  const std::uint64_t* data() const noexcept { return words_.data(); }
  void clear() noexcept { used_ = 0; }
  // Call it only while words are left.
  void add(std::uint64_t word) noexcept { words_[used_++] = word; }
  // A text that fits, padded with zeros.
  void add_text(std::string_view text) noexcept {
    if (text.empty()) return;
    const auto count = static_cast<std::uint32_t>((text.size() + 7) / 8);
    words_[used_ + count - 1] = 0;
    std::memcpy(words_.data() + used_, text.data(), text.size());
    used_ += count;
  }

 private:
  std::array<std::uint64_t, 64> words_;
  std::uint32_t used_ = 0;
};

// Writes a record of the words and the text, then the rest of the text that did not fit.
inline Written write_with_text(ExtendedKind kind, const std::uint64_t* words,
                               std::uint32_t word_count, std::string_view text,
                               Loss loss) noexcept {
  text = text.substr(0, kMaxTextBytes);
  const auto take = [&text](std::uint32_t most_words) {
    const std::string_view part = text.substr(0, std::size_t{most_words} * 8);
    text.remove_prefix(part.size());
    return part;
  };
  const Written written =
      write_record(kind, {words, word_count, take(kMaxPayloadWords - word_count)}, loss);
  for (bool going = written.position != 0; going && !text.empty();) {
    const TextPayload more = {nullptr, 0, take(kMaxPayloadWords)};
    going = write_record(ExtendedKind::MoreText, more, Loss::Other).position != 0;
  }
  return written;
}

// A record that is nothing but a text: its length, then its bytes.
inline Written write_text(ExtendedKind kind, std::string_view text, Loss loss) noexcept {
  const std::uint64_t size = text.size();
  return write_with_text(kind, &size, 1, text, loss);
}

}  // namespace sonde::detail
