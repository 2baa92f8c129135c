// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where spans were called from. For many questions about one trace: it keeps what it learned.

#include <string>
#include <string_view>

#include "analyse/events/forward_ops.h"
#include "sonde/trace.h"

namespace sonde::detail {

// Whether a frame is of Python, of PyTorch or of the C library, by the path of its file.
bool is_library_frame(std::string_view frame);

class SourceLocations {
 public:
  explicit SourceLocations(const Trace& trace) : trace_(trace), forward_ops_(trace) {}
  // As source_location().
  std::string of(SpanId span);

 private:
  const Trace& trace_;
  ForwardOps forward_ops_;
};

}  // namespace sonde::detail
