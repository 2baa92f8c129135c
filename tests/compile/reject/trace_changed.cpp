// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: discards qualifiers
#include <sonde/trace/builder.h>

void caller(sonde::TraceBuilder& builder, sonde::Trace& trace) {
#ifdef REJECT
  trace.spans().push_back({});
  static_cast<void>(builder);
#else
  builder.spans().push_back({});
  static_cast<void>(trace);
#endif
}
