// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/join_captures.h"

#include <string>

#include "convert/kineto/read/extras.h"
#include "convert/kineto/read/keys.h"
#include "trace/launches.h"

namespace sonde {
namespace {

template <typename Table>
void join(TraceBuilder& builder, Table& table, const CallsByNumber& calls) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const SpanId number = table.captured_by[i];
    if (!number.valid()) continue;
    const ProcessId process = process_of(builder.tables(), table.span[i].index());
    const SpanId call = calls.find(process, number.value());
    table.captured_by.set(i, call);
    if (call.valid()) continue;
    keep_extra(builder, TableKind::Spans, table.span[i].value(),
               std::string(text_of(ArgKey::CapturedByCorrelation)), std::to_string(number.value()));
  }
}

}  // namespace

void join_captures(TraceBuilder& builder) {
  if (!builder.kernels().captured_by.materialised() && !builder.copies().captured_by.materialised())
    return;
  const CallsByNumber calls(builder.tables());
  join(builder, builder.kernels(), calls);
  join(builder, builder.copies(), calls);
}

}  // namespace sonde
