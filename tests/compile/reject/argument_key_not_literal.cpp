// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: expected
#include <sonde/record.h>

#include <string>

void caller(const std::string& key, int batch) {
#ifdef REJECT
  SONDE_SCOPE("load", key.c_str(), batch);
#else
  SONDE_SCOPE("load", "key", key, "batch", batch);
#endif
}
