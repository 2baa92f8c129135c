// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: an argument must be a number, a bool or a text
#include <sonde/record.h>

void caller(const int* value) {
#ifdef REJECT
  SONDE_SCOPE("load", "value", value);
#else
  SONDE_SCOPE("load", "value", *value);
#endif
}
