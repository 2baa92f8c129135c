// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/join_captures.h"

#include <string>
#include <unordered_map>

#include "convert/kineto/read/extras.h"
#include "convert/kineto/read/keys.h"

namespace sonde {
namespace {

using Calls = std::unordered_map<std::int64_t, SpanId>;  // by correlation

Calls find_calls(const SpanTable& spans) {
  Calls calls;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const bool is_call =
        spans.kind[i] == SpanKind::CudaRuntime || spans.kind[i] == SpanKind::CudaDriver;
    // Of calls inside of one another that share a number the outer stands first, and is the one.
    if (is_call && spans.correlation[i] != 0) calls.try_emplace(spans.correlation[i], i);
  }
  return calls;
}

template <typename Table>
void join(TraceBuilder& builder, Table& table, const Calls& calls) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const SpanId number = table.captured_by[i];
    if (!number.valid()) continue;
    const auto found = calls.find(number.value());
    table.captured_by.set(i, found != calls.end() ? found->second : SpanId());
    if (found != calls.end()) continue;
    keep_extra(builder, TableKind::Spans, table.span[i].value(),
               std::string(text_of(ArgKey::CapturedBy)), std::to_string(number.value()));
  }
}

}  // namespace

void join_captures(TraceBuilder& builder) {
  if (!builder.kernels().captured_by.materialised() && !builder.copies().captured_by.materialised())
    return;
  const Calls calls = find_calls(builder.spans());
  join(builder, builder.kernels(), calls);
  join(builder, builder.copies(), calls);
}

}  // namespace sonde
