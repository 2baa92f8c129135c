// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstddef>

#include "convert/kineto/write/event_writer.h"

// The ends of flows: s where one begins, f where one ends, t where one arrives and continues.

namespace sonde {

namespace {

// If more flows arrive at one span, only this many are searched for one that continues.
constexpr std::size_t kMostArrivals = 1000;

}  // namespace

bool KinetoEvents::share_number(FlowId a, FlowId b) const {
  const FlowTable& flows = plan_.flows;
  return flows.id[a] == flows.id[b] && flows.kind[a] == flows.kind[b] &&
         flows.category[a] == flows.category[b];
}

Nanos KinetoEvents::flow_time(SpanId span, Nanos own_ns, Nanos start_ns) const {
  const bool is_inside = own_ns > spans_.start_ns[span] && own_ns <= plan_.trace.end_ns(span) &&
                         !is_async(spans_, span.index());
  return is_inside ? own_ns : start_ns;
}

// An end without a time of its own is drawn at the start of its span, as Kineto does. Rows that
// begin there with one number share one start; a flow that arrives and continues is one step.
void KinetoEvents::span_flows(SpanId span, Cursors& cursors) {
  const bool is_left = cursors.flows_from.has(span);
  if (!is_left && !cursors.flows_to.has(span)) return;
  const FlowTable& flows = plan_.flows;
  const std::string& line = plan_.identity.line(track_, plan_.lanes.lane(span)).both;
  const Nanos start = spans_.start_ns[span] - widening_ns(spans_.kind[span]);
  const auto time_to = [&](FlowId row) { return flow_time(span, flows.to_ns[row], start); };
  arrived_.clear();
  if (is_left) {
    while (cursors.flows_to.has(span)) arrived_.emplace_back(cursors.flows_to.take());
  }
  FlowId before;
  while (cursors.flows_from.has(span)) {
    const FlowId row(cursors.flows_from.take());
    const Nanos time = flow_time(span, flows.from_ns[row], start);
    const bool is_same = before.valid() && share_number(row, before) &&
                         time == flow_time(span, flows.from_ns[before], start);
    before = row;
    if (is_same) continue;
    const auto last =
        arrived_.begin() + static_cast<std::ptrdiff_t>(std::min(arrived_.size(), kMostArrivals));
    const auto comes = std::find_if(arrived_.begin(), last, [&](FlowId other) {
      return other.valid() && other != row && share_number(row, other) && time == time_to(other);
    });
    if (comes == last) {
      flow(row, 's', line, time);
    } else {
      flow(*comes, 't', line, time, row);
      *comes = FlowId();
    }
  }
  for (const FlowId row : arrived_) {
    if (row.valid()) flow(row, 'f', line, time_to(row));
  }
  while (cursors.flows_to.has(span)) {
    const FlowId row(cursors.flows_to.take());
    flow(row, 'f', line, time_to(row));
  }
}

void KinetoEvents::flow(FlowId row, char phase, const std::string& line, Nanos time_ns,
                        FlowId onward) {
  const FlowTable& flows = plan_.flows;
  char* at = out_.room(kEventRoom);
  at = put(at, ",\n  {\n    \"ph\": \"");
  *at++ = phase;
  plan_.flow_extras.find(row.value(), extras_);
  const ExtraId foreign = take_extra("event.id");
  at = put(at, "\", \"id\": ");
  if (foreign.valid()) {
    at = text(at, plan_.strings.value(plan_.trace.extras().value[foreign], scratch_));
  } else {
    at = put_integer(at, flows.id[row]);
  }
  at = text(put(at, ", "), line);
  at = time(put(at, ", \"ts\": "), time_ns);
  at = put(at, ",\n    \"cat\": \"");
  const StringId category = flows.category[row];
  const std::string_view kind = to_string(flows.kind[row]);
  at = category.valid() ? string(at, category) : put(at, kind);
  at = put(at, "\", \"name\": \"");
  if (flows.name[row].valid()) {
    at = string(at, flows.name[row]);
  } else {
    at = category.valid() ? string(at, category) : put(at, kind);
  }
  at = phase == 'f' ? put(at, "\", \"bp\": \"e\"") : put(at, "\"");
  if (!extras_.empty() || onward.valid()) {
    at = flow_extras(at, row, phase, onward, true);
    at = close_args(flow_extras(open_args(at), row, phase, onward, false));
  }
  out_.advance(put(at, "\n  }"));
}

char* KinetoEvents::flow_extras(char* at, FlowId row, char phase, FlowId onward, bool of_event) {
  at = end_extras(at, row, phase == 's' ? "start." : "end.", of_event);
  return onward.valid() ? end_extras(at, onward, "start.", of_event) : at;
}

char* KinetoEvents::end_extras(char* at, FlowId row, std::string_view end, bool of_event) {
  plan_.flow_extras.find(row.value(), extras_);
  for (const ExtraId extra : extras_) {
    const StringId key = plan_.trace.extras().key[extra];
    const std::string_view whole = plan_.trace.string(key);
    if (!whole.starts_with(end) || is_event_key(whole.substr(end.size())) != of_event) continue;
    const std::size_t bare = end.size() + (of_event ? kEventPrefix.size() : 0);
    const std::string_view escaped = plan_.strings.escaped(key, scratch_).substr(bare);
    at = put(text(put(at, ", \""), escaped), "\": ");
    at = text(at, plan_.strings.value(plan_.trace.extras().value[extra], scratch_));
  }
  return at;
}

}  // namespace sonde
