// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/schema_text.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <vector>

namespace sonde::torch {
namespace {

// Values are formatted here. With torch 2.11, programs crashed when libtorch wrote a number to one
// of our streams.
std::string double_text(double number) {
  const bool is_whole = std::abs(number) < 1e10 && std::trunc(number) == number;
  char digits[40];
  std::snprintf(digits, sizeof(digits), is_whole ? "%.0f." : "%.17g", number);
  return digits;
}

std::string value_text(const c10::IValue& value) {
  if (value.isNone()) return "None";
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return double_text(value.toDouble());
  if (value.isString()) return "\"" + value.toStringRef() + "\"";
  if (!value.isList()) return "<" + value.tagKind() + ">";
  std::string text;
  for (const c10::IValue& item : value.toListRef())
    text += (text.empty() ? "" : ", ") + value_text(item);
  return "[" + text + "]";
}

bool is_int_list(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::ListType &&
         type->castRaw<c10::ListType>()->getElementType()->kind() == c10::TypeKind::IntType;
}

// A list of equal numbers is written as one number, `int[2] stride=1`, but not a list of symbolic
// numbers: `SymInt[2] stride=[1, 1]`.
std::string default_text(const c10::TypePtr& type, const c10::IValue& value) {
  if (!is_int_list(type) || !value.isIntList() || value.toListRef().size() < 2)
    return value_text(value);
  const c10::ArrayRef<c10::IValue> items = value.toListRef();
  const bool all_same = std::all_of(items.begin(), items.end(), [&](const c10::IValue& item) {
    return item.toInt() == items.front().toInt();
  });
  return all_same ? value_text(items.front()) : value_text(value);
}

c10::Argument without_default(const c10::Argument& of) {
  if (const c10::AliasInfo* const alias = of.alias_info())
    return c10::Argument(of.name(), of.type(), of.real_type(), of.N(), {}, of.kwarg_only(), *alias);
  return c10::Argument(of.name(), of.type(), of.real_type(), of.N(), {}, of.kwarg_only());
}

std::string argument_text(const c10::Argument& argument) {
  std::ostringstream stream;
  stream << without_default(argument);
  std::string text = stream.str();
  if (argument.default_value())
    text += "=" + default_text(argument.real_type(), *argument.default_value());
  return text;
}

std::string arguments_text(const c10::FunctionSchema& schema) {
  std::string text;
  bool has_star = false;
  for (const c10::Argument& argument : schema.arguments()) {
    if (!text.empty()) text += ", ";
    if (argument.kwarg_only() && !has_star) text += "*, ";
    has_star = has_star || argument.kwarg_only();
    text += argument_text(argument);
  }
  if (schema.is_vararg()) text += text.empty() ? "..." : ", ...";
  return text;
}

std::string returns_text(const c10::FunctionSchema& schema) {
  std::string text;
  for (const c10::Argument& result : schema.returns())
    text += (text.empty() ? "" : ", ") + argument_text(result);
  if (schema.is_varret()) text += text.empty() ? "..." : ", ...";
  const bool is_single = schema.returns().size() + (schema.is_varret() ? 1 : 0) == 1;
  return is_single && text.front() != '(' ? text : "(" + text + ")";
}

}  // namespace

std::string schema_text(const c10::OperatorName& name) {
  const auto found = c10::Dispatcher::singleton().findSchema(name);
  if (!found) return "";
  const c10::FunctionSchema& schema = found->schema();
  std::string text = schema.name();
  if (!schema.overload_name().empty()) text += "." + schema.overload_name();
  return text + "(" + arguments_text(schema) + ") -> " + returns_text(schema);
}

}  // namespace sonde::torch
