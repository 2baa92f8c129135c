// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/node_values.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace sonde::torch {
namespace {

// PyTorch's own limit, and one more.
constexpr std::size_t kMostItems = 4097;

void append(std::string& out, std::int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}
void append(std::string& out, std::uint64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

// The shortest text that reads back as the same number and does not look like an integer.
void append(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "\"nan\"";
  } else if (std::isinf(number)) {
    out += number > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    char digits[40];
    for (const int precision : {6, 15, 17}) {
      std::snprintf(digits, sizeof(digits), "%.*g", precision, number);
      if (std::strtod(digits, nullptr) == number) break;
    }
    const std::string_view text(digits);
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

void append(std::string& out, c10::IntArrayRef numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    append(out, numbers[i]);
  }
  out += ']';
}

// Whether a tensor has neither sizes nor elements of its own.
bool is_opaque(const at::Tensor& tensor) {
  return !tensor.defined() || tensor.is_nested() ||
         tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

// Tensors that only pretend to have data throw when asked for it.
const void* storage_address(const at::Tensor& tensor, bool& has_storage) {
  has_storage = false;
  if (!tensor.has_storage()) return nullptr;
  try {
    const void* const address = tensor.storage().unsafeGetStorageImpl()->data();
    has_storage = true;
    return address;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

sonde_et_text et_text(std::string_view text) {
  return {text.data(), text.size()};
}

void append_json(std::string& out, std::string_view text) {
  sonde_et_string(
      et_text(text),
      [](void* to, sonde_et_text json) {
        static_cast<std::string*>(to)->append(json.data, json.bytes);
      },
      &out);
}

void NodeValues::begin_element() {
  if (!is_first_) {
    for (std::string* list : {&values_, &shapes_, &types_, &strides_}) *list += ',';
  }
  is_first_ = false;
}

// A type is one string, whatever is in it.
void NodeValues::add(const c10::IValue& value, NodeNumbers& numbers) {
  begin_element();
  types_ += '"';
  put(value, numbers);
  types_ += '"';
}

sonde_et_values NodeValues::lists() {
  if (!is_closed_) {
    for (std::string* list : {&values_, &shapes_, &types_, &strides_}) *list += ']';
  }
  is_closed_ = true;
  return {et_text(values_), et_text(shapes_), et_text(types_), et_text(strides_)};
}

void NodeValues::put(const c10::IValue& value, NodeNumbers& numbers) {
  if (value.isTensor()) {
    put_tensor(value.toTensor(), numbers);
  } else if (value.isTuple()) {
    types_ += "Tuple[";
    put_items(value.toTupleRef().elements().asArrayRef(), numbers);
    types_ += ']';
  } else if (value.isList()) {
    types_ += "GenericList[";
    put_items(value.toListRef(), numbers);
    types_ += ']';
  } else {
    put_single(value);
  }
}

void NodeValues::put_items(c10::ArrayRef<c10::IValue> items, NodeNumbers& numbers) {
  for (std::string* list : {&values_, &shapes_, &strides_}) *list += '[';
  for (std::size_t i = 0; i < items.size() && i < kMostItems; ++i) {
    if (i > 0) {
      for (std::string* list : {&values_, &shapes_, &types_, &strides_}) *list += ',';
    }
    put(items[i], numbers);
  }
  for (std::string* list : {&values_, &shapes_, &strides_}) *list += ']';
}

// [tensor, storage, offset, elements, bytes an element, "device"]
void NodeValues::put_tensor(const at::Tensor& tensor, NodeNumbers& numbers) {
  types_ += "Tensor(";
  const auto type = tensor.dtype().name();
  types_.append(type.data(), type.size());
  types_ += ')';
  values_ += '[';
  append(values_, numbers.of(tensor.unsafeGetTensorImpl()));
  bool has_storage = false;
  const void* const storage = is_opaque(tensor) ? nullptr : storage_address(tensor, has_storage);
  if (has_storage) {
    values_ += ',';
    append(values_, numbers.of(storage));
    values_ += ',';
    append(values_, tensor.storage_offset());
    values_ += ',';
    append(values_, tensor.numel());
    values_ += ',';
    append(values_, static_cast<std::uint64_t>(tensor.itemsize()));
    values_ += ",\"";
    values_ += tensor.device().str();
    values_ += "\"]";
  } else {
    values_ += ",0,0,0,0,\"\"]";
  }
  append(shapes_, is_opaque(tensor) ? c10::IntArrayRef() : tensor.sizes());
  const bool has_strides = !is_opaque(tensor) && tensor.layout() == c10::kStrided;
  append(strides_, has_strides ? tensor.strides() : c10::IntArrayRef());
}

void NodeValues::put_single(const c10::IValue& value) {
  const std::string kind = value.tagKind();
  types_ += kind;
  shapes_ += "[]";
  strides_ += "[]";
  if (value.isInt()) {
    append(values_, value.toInt());
  } else if (value.isDouble()) {
    append(values_, value.toDouble());
  } else if (value.isBool()) {
    values_ += value.toBool() ? "true" : "false";
  } else if (value.isString()) {
    append_json(values_, value.toStringRef());
  } else if (value.isDevice()) {
    append_json(values_, value.toDevice().str());
  } else {
    values_ += "\"<" + kind + ">\"";
  }
}

}  // namespace sonde::torch
