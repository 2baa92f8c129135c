// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds where strings and values end in JSON text, and reads integers, without parsing it into a
// tree. Nothing is unescaped or allocated. Text that is not quite JSON (control characters in
// strings, unknown escapes, bytes that are not UTF-8) is handled like any other.
//
//   const char* at = skip_space(text);
//   if (*at == '[') after = value_end(at, end);   // null if the text ends before
//
// All text must be followed by kJsonPadding readable zero bytes: loops read 16 bytes ahead, and a
// zero ends anything but a string.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sonde {

inline constexpr std::size_t kJsonPadding = 64;
// Values nested deeper are refused. Real traces have less than ten levels.
inline constexpr int kJsonDepth = 1000;

namespace detail {

inline constexpr unsigned kBlockBytes = 16;

// Bit i says that byte i of the 16 at `at` is a quote or a backslash.
inline unsigned string_marks(const char* at) {
#if defined(__SSE2__)
  __m128i bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i escapes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(quotes, escapes)));
#else
  unsigned marks = 0;
  for (unsigned i = 0; i < kBlockBytes; ++i) {
    marks |= static_cast<unsigned>(at[i] == '"' || at[i] == '\\') << i;
  }
  return marks;
#endif
}

// Quotes and both kinds of brackets; '[' and '{' differ in only one bit, and so do ']' and '}'.
inline unsigned nesting_marks(const char* at) {
#if defined(__SSE2__)
  __m128i bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
  const __m128i opens = _mm_cmpeq_epi8(folded, _mm_set1_epi8('{'));
  const __m128i closes = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_or_si128(quotes, _mm_or_si128(opens, closes))));
#else
  unsigned marks = 0;
  for (unsigned i = 0; i < kBlockBytes; ++i) {
    const char folded = static_cast<char>(at[i] | 0x20);
    marks |= static_cast<unsigned>(at[i] == '"' || folded == '{' || folded == '}') << i;
  }
  return marks;
#endif
}

// Bytes that are not space: above 0x20, or zero.
inline unsigned solid_marks(const char* at) {
#if defined(__SSE2__)
  __m128i bytes;
  std::memcpy(&bytes, at, sizeof(bytes));
  const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
  const __m128i zero = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_andnot_si128(low, _mm_set1_epi8(-1))) |
                               _mm_movemask_epi8(zero));
#else
  unsigned marks = 0;
  for (unsigned i = 0; i < kBlockBytes; ++i) {
    const auto byte = static_cast<unsigned char>(at[i]);
    marks |= static_cast<unsigned>(byte > 0x20 || byte == 0) << i;
  }
  return marks;
#endif
}

// Bit i says that byte i of the 16 at `a` differs from that at `b`.
inline unsigned differing_marks(const char* a, const char* b) {
#if defined(__SSE2__)
  __m128i left;
  __m128i right;
  std::memcpy(&left, a, sizeof(left));
  std::memcpy(&right, b, sizeof(right));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(left, right))) ^ 0xffffU;
#else
  unsigned marks = 0;
  for (unsigned i = 0; i < kBlockBytes; ++i) marks |= static_cast<unsigned>(a[i] != b[i]) << i;
  return marks;
#endif
}

inline unsigned first_mark(unsigned marks) {
  return static_cast<unsigned>(std::countr_zero(marks));
}

}  // namespace detail

// Whether `size` bytes are equal; unequal texts mostly differ in the first few bytes. May read up
// to 16 bytes past their ends.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  const unsigned first = detail::differing_marks(a, b);
  if (size <= detail::kBlockBytes) return (first & ((1U << size) - 1)) == 0;
  if (first != 0) return false;
  for (std::size_t at = detail::kBlockBytes; at + detail::kBlockBytes < size;
       at += detail::kBlockBytes) {
    if (detail::differing_marks(a + at, b + at) != 0) return false;
  }
  const std::size_t last = size - detail::kBlockBytes;
  return detail::differing_marks(a + last, b + last) == 0;
}

// Control characters count as space, except zero.
inline const char* skip_space(const char* at) {
  if (static_cast<unsigned char>(*at) > 0x20) return at;
  if (*at != '\0' && static_cast<unsigned char>(at[1]) > 0x20) return at + 1;
  unsigned marks = detail::solid_marks(at);
  while (marks == 0) {
    at += detail::kBlockBytes;
    marks = detail::solid_marks(at);
  }
  return at + detail::first_mark(marks);
}

// `at` is after the opening quote. Returns the closing quote; null if there is none before `end`.
inline const char* string_end(const char* at, const char* end) {
  while (at < end) {
    const unsigned marks = detail::string_marks(at);
    if (marks == 0) {
      at += detail::kBlockBytes;
      continue;
    }
    at += detail::first_mark(marks);
    if (*at == '"') return at < end ? at : nullptr;
    at += 2;
  }
  return nullptr;
}

// `at` is at '[' or '{'. Returns the position after its closing bracket. Null if there is none
// before `end`, or if it is nested too deeply; then `failed_at` says where.
const char* nested_end(const char* at, const char* end, const char** failed_at);

// The position after a number or a word.
inline const char* token_end(const char* at) {
  while (static_cast<unsigned char>(*at) > 0x20 && *at != ',' && *at != '}' && *at != ']' &&
         *at != ':' && *at != '"' && *at != '[' && *at != '{') {
    ++at;
  }
  return at;
}

// The position after the value at `at`; null as above, or if no value begins there.
inline const char* value_end(const char* at, const char* end, const char** failed_at) {
  if (*at == '"') {
    const char* quote = string_end(at + 1, end);
    if (quote != nullptr) return quote + 1;
    *failed_at = end;
    return nullptr;
  }
  if (*at == '[' || *at == '{') return nested_end(at, end, failed_at);
  const char* after = token_end(at);
  if (after != at && after <= end) return after;
  *failed_at = at;
  return nullptr;
}

// Calls visit(key, value) for each member of the object at `text`. Keys come without quotes, values
// raw. False if the object is broken, or when visit() returns false.
template <typename Visit>
bool for_each_member(std::string_view text, Visit&& visit) {
  const char* end = text.data() + text.size();
  const char* failed_at = nullptr;
  if (text.empty() || text.front() != '{') return false;
  const char* at = skip_space(text.data() + 1);
  while (at < end && *at == '"') {
    const char* quote = string_end(at + 1, end);
    if (quote == nullptr) return false;
    const std::string_view key(at + 1, static_cast<std::size_t>(quote - at - 1));
    at = skip_space(quote + 1);
    if (at >= end || *at != ':') return false;
    at = skip_space(at + 1);
    const char* after = at < end ? value_end(at, end, &failed_at) : nullptr;
    if (after == nullptr) return false;
    if (!visit(key, std::string_view(at, static_cast<std::size_t>(after - at)))) return false;
    at = skip_space(after);
    if (at < end && *at == ',') at = skip_space(at + 1);
  }
  return at < end && *at == '}';
}

// The same for the elements of an array.
template <typename Visit>
bool for_each_element(std::string_view text, Visit&& visit) {
  const char* end = text.data() + text.size();
  const char* failed_at = nullptr;
  if (text.empty() || text.front() != '[') return false;
  const char* at = skip_space(text.data() + 1);
  while (at < end && *at != ']') {
    const char* after = value_end(at, end, &failed_at);
    if (after == nullptr) return false;
    if (!visit(std::string_view(at, static_cast<std::size_t>(after - at)))) return false;
    at = skip_space(after);
    if (at < end && *at == ',') {
      at = skip_space(at + 1);
    } else if (at >= end || *at != ']') {
      return false;
    }
  }
  return at < end;
}

// Whether `text` as a whole is one quoted string.
inline bool is_quoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"';
}

// The content of a quoted string, with its escapes.
inline std::string_view unquoted(std::string_view text) {
  return text.substr(1, text.size() - 2);
}

}  // namespace sonde
