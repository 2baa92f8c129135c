// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: every argument must be a key and a value
#include <sonde/record.h>

void caller() {
#ifdef REJECT
  SONDE_FUNCTION("batch");
#else
  SONDE_FUNCTION("batch", 1);
#endif
}
