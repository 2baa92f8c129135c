// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: a category must be a text
#include <sonde/record.h>

void caller() {
#ifdef REJECT
  SONDE_SCOPE("load", SONDE_CATEGORY, 1);
#else
  SONDE_SCOPE("load", SONDE_CATEGORY, "io");
#endif
}
