// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: use of deleted function
#include <sonde/record.h>

#include <utility>

void caller() {
  sonde::record_function range("load");
#ifdef REJECT
  const sonde::record_function other(range);
#else
  const sonde::record_function other(std::move(range));
#endif
}
