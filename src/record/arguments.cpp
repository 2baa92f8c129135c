// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Typed arguments of spans and instants: sonde/detail/arguments.h, and those of sonde/sonde.h.

#include "sonde/detail/arguments.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "record/listeners.h"
#include "record/text_record.h"
#include "sonde/sonde.h"

namespace sonde::detail {
namespace {

std::uint64_t head_word(std::uint32_t id, ArgumentType kind, std::uint64_t extra) noexcept {
  constexpr std::uint64_t kMostExtra = (std::uint64_t{1} << 24) - 1;
  return id | (static_cast<std::uint64_t>(kind) << 32) | (std::min(extra, kMostExtra) << 40);
}

// Packs arguments into as few records as possible.
class ArgumentRecorder {
 public:
  void add(const Argument& argument) noexcept {
    if (argument.kind == ArgumentType::Text) {
      add_text(argument, std::string_view(argument.text, argument.bits));
      return;
    }
    constexpr std::uint32_t kMostWords = 2;
    if (words_.left() < kMostWords) flush();
    const bool is_bool = argument.kind == ArgumentType::Bool;
    words_.add(head_word(name_number(argument.key), argument.kind, is_bool ? argument.bits : 0));
    if (!is_bool) words_.add(argument.bits);
  }
  void flush() noexcept {
    if (words_.used() > 0)
      write_record(ExtendedKind::Arguments, words_.data(), words_.used(), Loss::Other);
    words_.clear();
  }

 private:
  void add_text(const Argument& argument, std::string_view text) noexcept {
    if (argument.key[0] == kCategoryMark) {
      if (words_.left() == 0) flush();
      words_.add(head_word(name_number(text), ArgumentType::Category, 0));
      return;
    }
    const std::uint64_t head =
        head_word(name_number(argument.key), ArgumentType::Text, text.size());
    if (words_.left() == 0) flush();
    words_.add(head);
    if ((text.size() + 7) / 8 <= words_.left()) return words_.add_text(text);
    write_with_text(ExtendedKind::Arguments, words_.data(), words_.used(), text, Loss::Other);
    words_.clear();
  }

  RecordWords words_;
};

}  // namespace

void write_arguments(const Argument* arguments, std::size_t count) noexcept {
  if (!session_records()) return;
  ArgumentRecorder recorder;
  for (std::size_t i = 0; i < count; ++i) recorder.add(arguments[i]);
  recorder.flush();
}

}  // namespace sonde::detail

using sonde::detail::ArgumentType;
using sonde::detail::record_arguments;

extern "C" {

void sonde_arg_int(const char* key, int64_t value) {
  record_arguments({{key, ArgumentType::Int, static_cast<std::uint64_t>(value), nullptr}});
}

void sonde_arg_uint(const char* key, uint64_t value) {
  record_arguments({{key, ArgumentType::Uint, value, nullptr}});
}

void sonde_arg_double(const char* key, double value) {
  record_arguments({{key, ArgumentType::Double, std::bit_cast<std::uint64_t>(value), nullptr}});
}

void sonde_arg_bool(const char* key, int value) {
  record_arguments({{key, ArgumentType::Bool, value != 0 ? 1u : 0u, nullptr}});
}

void sonde_arg_text(const char* key, const char* text, size_t text_bytes) {
  record_arguments({{key, ArgumentType::Text, text_bytes, text}});
}

void sonde_category(const char* category) {
  record_arguments({sonde::detail::text_argument(SONDE_CATEGORY, category)});
}

}  // extern "C"
