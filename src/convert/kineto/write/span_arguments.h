// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The `args` that Kineto's JSON has of a span, one span at a time.
//
//   SpanArguments arguments(trace);
//   arguments.of(span);   // {"External id": 5, "Ev Idx": 3}

#include <memory>
#include <string>

#include "sonde/trace.h"

namespace sonde {

// Making one takes some milliseconds for a large trace. Not for several threads at once.
class SpanArguments {
 public:
  explicit SpanArguments(const Trace& trace);
  ~SpanArguments();
  SpanArguments(const SpanArguments&) = delete;
  SpanArguments& operator=(const SpanArguments&) = delete;

  // A JSON object; empty if the span has no arguments.
  std::string of(SpanId span);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sonde
