// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: every_argument_must_be_a_key_and_a_value
#include <sonde/record.h>

void caller(int batch) {
#ifdef REJECT
  SONDE_SCOPE("load", "batch", batch, "path");
#else
  SONDE_SCOPE("load", "batch", batch);
#endif
}
