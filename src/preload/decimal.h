// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string.h>
#include <sys/types.h>

namespace sonde {

// Writes a positive `number` and returns the end of the text. Signal handlers may call it.
inline char* put_decimal(char* at, pid_t number) {
  char digits[24];
  size_t first = sizeof(digits);
  for (; number > 0; number /= 10) digits[--first] = static_cast<char>('0' + number % 10);
  ::memcpy(at, digits + first, sizeof(digits) - first);
  return at + (sizeof(digits) - first);
}

}  // namespace sonde
