// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: no matching function
#include <sonde/record.h>

#include <string>

void caller(const std::string& key, int batch) {
#ifdef REJECT
  const sonde::record_function range("load", key.c_str(), batch);
#else
  const sonde::record_function range("load", "key", key, "batch", batch);
#endif
}
