// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/json/json_text.h"

namespace sonde {

namespace {

// Bits 0 to `last`.
unsigned through(std::ptrdiff_t last) {
  return (2U << static_cast<unsigned>(last)) - 1;
}

const char* fail(const char* where, const char** failed_at) {
  *failed_at = where;
  return nullptr;
}

}  // namespace

const char* nested_end(const char* at, const char* end, const char** failed_at) {
  int depth = 0;
  while (at < end) {
    const char* block = at;
    at += detail::kBlockBytes;
    unsigned marks = detail::nesting_marks(block);
    while (marks != 0) {
      const char* mark = block + detail::first_mark(marks);
      if (mark >= end) return fail(end, failed_at);
      marks &= marks - 1;
      if (*mark == '"') {
        const char* quote = string_end(mark + 1, end);
        if (quote == nullptr) return fail(end, failed_at);
        if (quote < at) {
          marks &= ~through(quote - block);
        } else {
          at = quote + 1;
          marks = 0;
        }
      } else if ((*mark | 0x20) == '{') {
        if (++depth > kJsonDepth) return fail(mark, failed_at);
      } else if (--depth == 0) {
        return mark + 1;
      }
    }
  }
  return fail(end, failed_at);
}

}  // namespace sonde
