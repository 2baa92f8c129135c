// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/span_arguments.h"

#include "convert/kineto/write/event_writer.h"

namespace sonde {

struct SpanArguments::State {
  explicit State(const Trace& source) : trace(source), plan(trace), events(plan) {}

  Trace trace;
  KinetoPlan plan;
  KinetoEvents events;
};

SpanArguments::SpanArguments(const Trace& trace) : state_(std::make_unique<State>(trace)) {}
SpanArguments::~SpanArguments() = default;

std::string SpanArguments::of(SpanId span) {
  return state_->events.arguments(span);
}

}  // namespace sonde
