// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/execution_trace/node_inputs.h"

#include <algorithm>

#include "analyse/operators/tensor_size.h"
#include "base/format.h"
#include "base/json.h"

namespace sonde::detail {
namespace {

std::string device_text(const OpArgumentTable& arguments, OpArgumentId argument) {
  const DeviceType type = arguments.device_type[argument];
  const std::int32_t index = arguments.device_index[argument];
  if (type == DeviceType::Unknown) return "cpu";
  const std::string name(to_string(type));
  return index < 0 ? name : name + ":" + std::to_string(index);
}

std::string numbers_text(const Trace& trace, DimId first, std::int32_t count) {
  std::string text = "[";
  for (std::int32_t i = 0; first.valid() && i < count; ++i) {
    const std::size_t row = first.index() + static_cast<std::size_t>(i);
    if (row >= trace.dims().size()) break;
    append_formatted(text, "{}{}", i > 0 ? "," : "", trace.dims().value[row]);
  }
  return text + "]";
}

std::int64_t elements_of(const Trace& trace, OpArgumentId argument) {
  const OpArgumentTable& arguments = trace.op_arguments();
  std::int64_t elements = 1;
  for (std::int32_t i = 0; i < arguments.dims_count[argument]; ++i) {
    const std::size_t row = arguments.dims_first[argument].index() + static_cast<std::size_t>(i);
    if (row >= trace.dims().size()) return 0;
    if (__builtin_mul_overflow(elements, trace.dims().value[row], &elements)) return 0;
  }
  return elements;
}

// A scalar in Python's notation, as JSON, with PyTorch's name of its type.
struct Scalar {
  std::string json;
  const char* type;
};

Scalar scalar_of(std::string_view text) {
  if (text == "True") return {"true", "Bool"};
  if (text == "False") return {"false", "Bool"};
  const bool is_integer = text.find_first_of(".enai") == std::string_view::npos;
  std::string json(text);
  if (!json.empty() && json.back() == '.') json += '0';
  if (!json.empty() && json.front() != '"' && validate_json(json))
    return {json, is_integer ? "Int" : "Double"};
  const bool is_double = text == "inf" || text == "-inf" || text == "nan" || text == "-nan";
  return {json_string(text), is_double ? "Double" : "String"};
}

// The items of "[1, 2]", without brackets and blanks.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  if (list.size() < 2 || list.front() != '[') return items;
  list = list.substr(1, list.size() - 2);
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    items.push_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    list.remove_prefix(std::min(list.find_first_not_of(' '), list.size()));
  }
  return items;
}

}  // namespace

// The four lists of one call.
struct NodeInputs::Lists {
  std::string values = "[";
  std::string shapes = "[";
  std::string types = "[";
  std::string strides = "[";
  bool in_list = false;

  // A type is one string, however many types are in it.
  void begin(bool is_item) {
    if (!is_item) close_list();
    for (std::string* list : {&values, &shapes, &strides}) {
      if (list->back() != '[') *list += ',';
    }
    if (!is_item) types += types.size() > 1 ? ",\"" : "\"";
    if (is_item && types.back() != '[') types += ',';
  }
  void single(const Scalar& scalar) {
    values += scalar.json;
    types += scalar.type;
    shapes += "[]";
    strides += "[]";
  }
  void open_list() {
    in_list = true;
    for (std::string* list : {&values, &shapes, &strides}) *list += '[';
    types += "GenericList[";
  }
  void close_list() {
    if (types.size() > 1 && !in_list && types.back() != '"') types += '"';
    if (!std::exchange(in_list, false)) return;
    for (std::string* list : {&values, &shapes, &strides}) *list += ']';
    types += "]\"";
  }
  void finish() {
    close_list();
    for (std::string* list : {&values, &shapes, &types, &strides}) *list += ']';
  }
};

NodeInputs::NodeInputs(const Trace& trace, ExecutionTrace& keeper)
    : trace_(trace), keeper_(keeper) {
  const TensorUseTable& uses = trace.tensor_uses();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses.role[i] == ArgumentRole::Input) uses_.emplace_back(uses.span[i], TensorUseId(i));
  }
  std::stable_sort(uses_.begin(), uses_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

ExecutionTraceValues NodeInputs::of(SpanId span, NodeIds& ids) {
  Lists lists;
  for (const OpArgumentId argument : trace_.arguments(span)) {
    if (trace_.op_arguments().role[argument] != ArgumentRole::Input) continue;
    lists.begin(trace_.op_arguments().element[argument] >= 0 && lists.in_list);
    put(span, argument, lists, ids);
  }
  lists.finish();
  return {keeper_.keep(std::move(lists.values)), keeper_.keep(std::move(lists.shapes)),
          keeper_.keep(std::move(lists.types)), keeper_.keep(std::move(lists.strides))};
}

// The tensors of a list follow as rows of their own.
void NodeInputs::put(SpanId span, OpArgumentId argument, Lists& lists, NodeIds& ids) const {
  const std::string_view text = trace_.string(trace_.op_arguments().value[argument]);
  switch (trace_.op_arguments().kind[argument]) {
    case ArgumentKind::Tensor:
      return put_tensor(span, argument, lists, ids);
    case ArgumentKind::TensorList:
      return lists.open_list();
    case ArgumentKind::Scalar:
      return lists.single(scalar_of(text));
    case ArgumentKind::ScalarList:
      lists.open_list();
      for (const std::string_view item : items_of(text)) {
        lists.begin(true);
        lists.single(scalar_of(item));
      }
      return;
    case ArgumentKind::String:
      return lists.single({json_string(text), "String"});
    default:
      return lists.single({"\"<None>\"", "None"});
  }
}

void NodeInputs::put_tensor(SpanId span, OpArgumentId argument, Lists& lists, NodeIds& ids) const {
  const OpArgumentTable& arguments = trace_.op_arguments();
  const TensorUseTable& uses = trace_.tensor_uses();
  std::uint64_t tensor = 0;
  std::uint64_t storage = 0;
  std::int64_t offset = 0;
  auto use =
      std::lower_bound(uses_.begin(), uses_.end(), span,
                       [](const auto& entry, SpanId wanted) { return entry.first < wanted; });
  for (; use != uses_.end() && use->first == span; ++use) {
    const TensorUseId row = use->second;
    if (uses.index[row] != arguments.index[argument] ||
        uses.element[row] != arguments.element[argument])
      continue;
    tensor = ids.of(uses.tensor_address[row]);
    storage = ids.of(uses.storage_address[row]);
    offset = uses.storage_offset[row];
    break;
  }
  append_formatted(lists.values, R"([{},{},{},{},{},"{}"])", tensor, storage, offset,
                   elements_of(trace_, argument), element_bytes(trace_, argument),
                   device_text(arguments, argument));
  const std::string type = json_string(trace_.string(arguments.dtype[argument]));
  append_formatted(lists.types, "Tensor({})", std::string_view(type).substr(1, type.size() - 2));
  lists.shapes +=
      numbers_text(trace_, arguments.dims_first[argument], arguments.dims_count[argument]);
  lists.strides +=
      numbers_text(trace_, arguments.strides_first[argument], arguments.strides_count[argument]);
}

}  // namespace sonde::detail
