// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: nodiscard
#include <sonde/result.h>

sonde::Result<void> fallible();

void caller() {
#ifdef REJECT
  fallible();
#else
  if (!fallible()) return;
#endif
}
