// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/events/module_calls.h"

#include "trace/known_names.h"

namespace sonde::detail {

bool ModuleCalls::is(SpanId span) {
  const StringId name = trace_.spans().name[span];
  if (!name.valid() || trace_.spans().kind[span] != SpanKind::PythonFunction) return false;
  const auto [found, is_new] = known_.try_emplace(name.value(), false);
  if (is_new) found->second = trace_.string(name).starts_with(kModulePrefix);
  return found->second;
}

SpanId ModuleCalls::around(SpanId span) {
  while (span.valid() && !is(span)) span = trace_.spans().parent[span];
  return span;
}

std::string_view ModuleCalls::name(SpanId call) const {
  return trace_.name(call).substr(kModulePrefix.size());
}

}  // namespace sonde::detail
