// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The arguments of SONDE_SCOPE and similar macros on their way to the recorder. They exist only
// while something records, and for one expression: texts are not copied before they are recorded.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "sonde/detail/words.h"

namespace sonde {
namespace detail {

struct Argument {
  const char* key;
  ArgumentType kind;
  std::uint64_t bits;  // of the number; for a text, its length in bytes
  const char* text;
};

// The first character of SONDE_CATEGORY.
constexpr char kCategoryMark = '\x1f';

template <typename T>
constexpr bool kIsText = std::is_convertible<const T&, std::string_view>::value;
template <typename T>
constexpr bool kIsArgument = ((std::is_integral<T>::value || std::is_enum<T>::value) &&
                              sizeof(T) <= sizeof(std::uint64_t)) ||
                             std::is_floating_point<T>::value || kIsText<T>;

inline Argument text_argument(const char* key, std::string_view text) noexcept {
  return {key, ArgumentType::Text, text.size(), text.data()};
}

template <typename T>
Argument argument(const char* key, const T& value) noexcept {
  static_assert(kIsArgument<T>, "an argument must be a number, a bool or a text");
  if constexpr (std::is_same<typename std::remove_cv<T>::type, bool>::value) {
    return {key, ArgumentType::Bool, value ? std::uint64_t{1} : std::uint64_t{0}, nullptr};
  } else if constexpr (std::is_enum<T>::value) {
    return argument(key, static_cast<typename std::underlying_type<T>::type>(value));
  } else if constexpr (std::is_integral<T>::value) {
    const ArgumentType kind = std::is_signed<T>::value ? ArgumentType::Int : ArgumentType::Uint;
    return {key, kind, static_cast<std::uint64_t>(value), nullptr};
  } else if constexpr (std::is_floating_point<T>::value) {
    const double number = static_cast<double>(value);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    return {key, ArgumentType::Double, bits, nullptr};
  } else if constexpr (std::is_pointer<T>::value && kIsText<T>) {
    return text_argument(key, value != nullptr ? std::string_view(value) : "(null)");
  } else if constexpr (kIsText<T>) {
    return text_argument(key, value);
  } else {
    return {};  // avoids a second message after the one above
  }
}

template <std::size_t N>
constexpr bool is_category(const char (&key)[N]) {
  return key[0] == kCategoryMark;
}

template <bool IsCategory, typename T>
Argument checked_argument(const char* key, const T& value) noexcept {
  static_assert(!IsCategory || kIsText<T>, "a category must be a text");
  return argument(key, value);
}

// Writes arguments of the span or instant that this thread recorded last.
void write_arguments(const Argument* arguments, std::size_t count) noexcept;

inline void record_arguments(std::initializer_list<Argument> arguments) noexcept {
  write_arguments(arguments.begin(), arguments.size());
}

// Only lets the compiler check the arguments.
inline void pass_over(std::initializer_list<Argument> /*arguments*/) noexcept {}

// Takes keys and values in turn. Keys are arrays of characters, as literals are.
inline void put_arguments(Argument* /*at*/) noexcept {}
template <std::size_t N, typename T, typename... Rest>
void put_arguments(Argument* at, const char (&key)[N], const T& value,
                   const Rest&... rest) noexcept {
  *at = argument(key, value);
  put_arguments(at + 1, rest...);
}

template <typename... KeysAndValues>
void check_keys_and_values(const KeysAndValues&... all) noexcept {
  static_assert(sizeof...(all) % 2 == 0, "every argument must be a key and a value");
  if (false) put_arguments(nullptr, all...);
}

template <typename... KeysAndValues>
void record_keys_and_values(const KeysAndValues&... all) noexcept {
  static_assert(sizeof...(all) % 2 == 0, "every argument must be a key and a value");
  Argument arguments[sizeof...(all) / 2];
  put_arguments(arguments, all...);
  write_arguments(arguments, sizeof...(all) / 2);
}

}  // namespace detail
}  // namespace sonde

// The key of the pair whose value is the category.
#define SONDE_CATEGORY "\x1f"

// One SONDE_ARGUMENT for each key and value, separated by commas. `"" key` makes anything but a
// literal an error.
#define SONDE_ARGUMENT(key, value) \
  ::sonde::detail::checked_argument<::sonde::detail::is_category("" key)>("" key, value)
#define SONDE_ARGUMENTS(...) SONDE_PASTE(SONDE_ARGUMENTS_, SONDE_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define SONDE_ARGUMENTS_2(key, value) SONDE_ARGUMENT(key, value)
#define SONDE_ARGUMENTS_4(key, value, ...) \
  SONDE_ARGUMENT(key, value), SONDE_ARGUMENTS_2(__VA_ARGS__)
#define SONDE_ARGUMENTS_6(key, value, ...) \
  SONDE_ARGUMENT(key, value), SONDE_ARGUMENTS_4(__VA_ARGS__)
#define SONDE_ARGUMENTS_8(key, value, ...) \
  SONDE_ARGUMENT(key, value), SONDE_ARGUMENTS_6(__VA_ARGS__)
#define SONDE_ARGUMENTS_10(key, value, ...) \
  SONDE_ARGUMENT(key, value), SONDE_ARGUMENTS_8(__VA_ARGS__)
#define SONDE_ARGUMENTS_12(key, value, ...) \
  SONDE_ARGUMENT(key, value), SONDE_ARGUMENTS_10(__VA_ARGS__)
#define SONDE_ARGUMENTS_14(key, value, ...) \
  SONDE_ARGUMENT(key, value), SONDE_ARGUMENTS_12(__VA_ARGS__)
#define SONDE_ARGUMENTS_16(key, value, ...) \
  SONDE_ARGUMENT(key, value), SONDE_ARGUMENTS_14(__VA_ARGS__)
// The compiler shows this name for a key without a value.
#define SONDE_ARGUMENTS_1(...) ::sonde::detail::every_argument_must_be_a_key_and_a_value
#define SONDE_ARGUMENTS_3(...) SONDE_ARGUMENTS_1()
#define SONDE_ARGUMENTS_5(...) SONDE_ARGUMENTS_1()
#define SONDE_ARGUMENTS_7(...) SONDE_ARGUMENTS_1()
#define SONDE_ARGUMENTS_9(...) SONDE_ARGUMENTS_1()
#define SONDE_ARGUMENTS_11(...) SONDE_ARGUMENTS_1()
#define SONDE_ARGUMENTS_13(...) SONDE_ARGUMENTS_1()
#define SONDE_ARGUMENTS_15(...) SONDE_ARGUMENTS_1()

// Evaluates `condition` first, and the values only if it is true.
#define SONDE_RECORD_ARGUMENTS(condition, ...) \
  if (condition) ::sonde::detail::record_arguments({SONDE_ARGUMENTS(__VA_ARGS__)})

// The compiler checks names and arguments but generates nothing for them.
#define SONDE_NOTHING_OF(...) \
  SONDE_PASTE(SONDE_NOTHING_OF_, SONDE_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define SONDE_NOTHING_OF_ONE(name) static_assert(true, "" name)
#define SONDE_NOTHING_OF_MORE(name, ...) \
  SONDE_NOTHING_OF_ONE(name);            \
  if (false) ::sonde::detail::pass_over({SONDE_ARGUMENTS(__VA_ARGS__)})

// For SONDE_FUNCTION with a single argument.
#define SONDE_ASSERT_NOTHING(nothing) \
  static_assert(sizeof("" nothing) == 1, "every argument must be a key and a value")

// The number of arguments of a macro, up to 17, and whether it is ONE or MORE.
#define SONDE_COUNT(...) \
  SONDE_EIGHTEENTH(__VA_ARGS__, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SONDE_ONE_OR_MORE(...)                                                                    \
  SONDE_EIGHTEENTH(__VA_ARGS__, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, \
                   MORE, MORE, MORE, MORE, MORE, ONE, 0)
#define SONDE_EIGHTEENTH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, ...) r

// Two hops: an argument such as __LINE__ must be expanded before ## pastes it.
#define SONDE_PASTE_AT(a, b) a##b
#define SONDE_PASTE(a, b) SONDE_PASTE_AT(a, b)
