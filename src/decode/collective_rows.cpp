// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/collective_rows.h"

#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "trace/known_names.h"

namespace sonde {

using detail::ArgumentType;

bool CollectiveRows::add(SpanId span, StringId key, const DecodedNotes::Argument& argument) {
  if (!operator_.valid()) operator_ = builder_.intern(kCollectiveOperator);
  if (builder_.spans().name[span] != operator_) return false;
  const std::string_view wanted = builder_.strings()[key];
  CollectiveTable& table = builder_.collectives();
  const auto row = [&] {
    if (table.empty() || table.span[table.size() - 1] != span) table.push_back({.span = span});
    return table.size() - 1;
  };
  bool is_taken = false;
  table.visit_columns([&](std::string_view name, auto& column) {
    using Value = std::decay_t<decltype(column[0])>;
    if (name != wanted) return;
    if constexpr (std::is_same_v<Value, StringId>) {
      if (argument.kind != ArgumentType::Text) return;
      column.set(row(), builder_.intern(argument.text));
      is_taken = true;
    } else if constexpr (std::is_integral_v<Value>) {
      if (argument.kind != ArgumentType::Int) return;
      column.set(row(), static_cast<Value>(argument.bits));
      is_taken = true;
    }
  });
  return is_taken;
}

void CollectiveRows::add_kernels() {
  CollectiveTable& table = builder_.collectives();
  if (table.empty()) return;
  const SpanTable& spans = builder_.spans();
  std::unordered_map<std::int64_t, std::size_t> rows;  // by the operator's number
  for (std::size_t row = 0; row < table.size(); ++row)
    rows.emplace(spans.external_id[table.span[row]], row);
  rows.erase(0);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!is_device_work(spans.kind[i])) continue;
    const auto found = rows.find(spans.external_id[i]);
    if (found == rows.end()) continue;
    CollectiveRow row = table.row(found->second);
    row.span = SpanId(i);
    table.push_back(row);
  }
}

}  // namespace sonde
