// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: cannot convert
#include <sonde/trace.h>

std::string_view caller(const sonde::Trace& trace) {
#ifdef REJECT
  return trace.name(3);
#else
  return trace.name(sonde::SpanId(3));
#endif
}
