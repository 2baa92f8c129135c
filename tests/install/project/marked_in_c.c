/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <sonde/sonde.h>
#include <stdio.h>

int main(void) {
  static sonde_site work = SONDE_SITE("work");
  if (sonde_is_recording() || sonde_begin(&work)) {
    fputs("nobody records, but something was begun\n", stderr);
    return 1;
  }
  puts("inert without a session");
  return 0;
}
