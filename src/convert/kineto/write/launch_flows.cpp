// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/launch_flows.h"

#include "trace/known_names.h"

namespace sonde {

namespace {

// True for all work whose call is known. For waits, only if Kineto draws an arrow from that call.
bool has_arrow(const Trace& trace, SpanId span, SpanId launch) {
  const SpanTable& spans = trace.spans();
  if (!launch.valid() || !is_call(spans.kind[launch])) return false;
  if (is_device_work(spans.kind[span])) return true;
  return spans.kind[span] == SpanKind::CudaSync && has_kineto_arrow_to_wait(trace.name(launch));
}

}  // namespace

FlowTable launch_flows(const Trace& trace) {
  FlowTable flows;
  const SpanTable& spans = trace.spans();
  if (!spans.launch.materialised()) return flows;
  for (const SpanId span : trace.all_spans()) {
    const SpanId launch = spans.launch[span];
    if (!has_arrow(trace, span, launch)) continue;
    FlowRow row;
    row.id = spans.correlation[span];
    row.kind = FlowKind::CpuToGpu;
    row.from_span = launch;
    row.to_span = span;
    flows.push_back(row);
  }
  return flows;
}

}  // namespace sonde
