// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rejects: cannot convert
#include <sonde/trace.h>

std::string_view caller(const sonde::Trace& trace, sonde::SpanId span, sonde::TrackId track) {
#ifdef REJECT
  static_cast<void>(span);
  return trace.name(track);
#else
  static_cast<void>(track);
  return trace.name(span);
#endif
}
