// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/event_numbers.h"

#include <charconv>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/known_names.h"

namespace sonde {
namespace {

constexpr std::int64_t kNoModule = -1;

// 2 of "nn.Module: Linear_2".
std::int64_t module_of(std::string_view name) {
  if (!name.starts_with(kModulePrefix)) return kNoModule;
  const std::size_t digits = name.rfind('_') + 1;
  if (digits == 0) return kNoModule;
  std::int64_t number = kNoModule;
  const auto [end, error] =
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size() && number >= 0;
  return is_number ? number : kNoModule;
}

}  // namespace

void number_python_calls(TraceBuilder& builder) {
  const SpanTable& spans = builder.spans();
  PythonCallTable& calls = builder.python_calls();
  // By span: the call that it is, or that is around it. Parents come before their children.
  std::vector<std::int64_t> around;
  std::unordered_map<std::uint32_t, std::int64_t> modules;  // by name
  std::int64_t last = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const bool is_call = spans.kind[i] == SpanKind::PythonFunction;
    if (!is_call && last == 0) continue;
    if (around.empty()) around.resize(spans.size(), -1);
    const SpanId parent = spans.parent[i];
    const std::int64_t outer = parent.valid() ? around[parent.index()] : -1;
    around[i] = outer;
    if (!is_call) continue;
    const auto [module, is_new] = modules.try_emplace(spans.name[i].value(), kNoModule);
    if (is_new && spans.name[i].valid())
      module->second = module_of(builder.strings()[spans.name[i]]);
    PythonCallRow row;
    row.span = SpanId(static_cast<std::uint32_t>(i));
    row.python_id = around[i] = ++last;
    row.parent_python_id = outer;
    row.module_id = module->second;
    calls.push_back(row);
  }
}

void number_events(TraceBuilder& builder) {
  SpanTable& spans = builder.spans();
  spans.event_index.resize(spans.size());
  std::int64_t next = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const SpanKind kind = spans.kind[i];
    const bool is_numbered = kind == SpanKind::CpuOp || kind == SpanKind::PythonFunction ||
                             kind == SpanKind::UserAnnotation || kind == SpanKind::Scope;
    if (is_numbered) spans.event_index.set(i, next++);
  }
}

}  // namespace sonde
