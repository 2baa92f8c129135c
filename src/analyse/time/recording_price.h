// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sonde/trace.h"

namespace sonde::detail {

// What recording one event of a path cost the recorded thread, in nanoseconds: as measured in the
// process, else estimated from what a scope cost. 0 for what is not known.
struct RecordingPrices {
  explicit RecordingPrices(const Trace& trace);

  // With all that was recorded of it. Device work costs nothing besides its call.
  double of(const Trace& trace, SpanId span) const;
  bool known() const { return operator_ns > 0 || scope_ns > 0; }

  double operator_ns = 0;
  double gradient_ns = 0;         // more, for an operator that is a gradient
  double inputs_ns = 0;           // more, for an operator with inputs
  double gradient_inputs_ns = 0;  // more, if that is a gradient
  double stack_ns = 0;
  double allocation_ns = 0;  // or free
  double scope_ns = 0;
  double python_call_ns = 0;
  double device_call_ns = 0;
};

}  // namespace sonde::detail
