// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: expected
#include <sonde/record.h>

#include <string>

void caller(const std::string& name) {
#ifdef REJECT
  SONDE_SCOPE(name.c_str());
#else
  sonde::record_function range(name);
#endif
}
