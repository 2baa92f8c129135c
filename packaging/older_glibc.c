/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the libstdc++ inside of the tarball and the wheel calls, and glibc has only from 2.36 on.
 * With it, 2.35 will do. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t number;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) abort();
  return number;
}
