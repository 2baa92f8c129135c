// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "columns.h"

#include <cstring>
#include <type_traits>

namespace sonde::python {
namespace {

template <typename T>
constexpr ColumnType number_type() {
  if constexpr (std::is_floating_point_v<T>) return ColumnType::F64;
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? ColumnType::I8 : ColumnType::U8;
    case 2:
      return is_signed ? ColumnType::I16 : ColumnType::U16;
    case 4:
      return is_signed ? ColumnType::I32 : ColumnType::U32;
    default:
      return is_signed ? ColumnType::I64 : ColumnType::U64;
  }
}

template <typename T>
constexpr ColumnType type_of_column() {
  if constexpr (std::is_same_v<T, StringId>) {
    return ColumnType::String;
  } else if constexpr (IsId<T>::value) {
    return ColumnType::Row;
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(sizeof(T) == 1);
    return ColumnType::Enum;
  } else {
    return number_type<T>();
  }
}

template <typename T>
std::uint64_t bits_of(T value) {
  if constexpr (IsId<T>::value) {
    return value.value();
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::uint8_t>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    return bits;
  } else {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

template <typename T>
ColumnView view_of(const char* name, const Column<T>& column) {
  ColumnView view;
  view.name = name;
  view.type = type_of_column<T>();
  view.item_bytes = sizeof(T);
  view.size = column.size();
  view.data = column.data();
  view.null_value = bits_of(column.null_value());
  if constexpr (std::is_enum_v<T>)
    view.enum_text = [](std::uint8_t value) { return to_string(static_cast<T>(value)); };
  return view;
}

template <typename T>
std::uint64_t load_bits(const void* data, std::size_t row) {
  return bits_of(static_cast<const T*>(data)[row]);
}

}  // namespace

bool ColumnView::has_nulls() const {
  if (type == ColumnType::Row || type == ColumnType::String) return true;
  return type <= ColumnType::I64 && null_value == ~std::uint64_t{0};
}

std::uint64_t ColumnView::bits_at(std::size_t row) const {
  if (data == nullptr) return null_value;
  switch (type) {
    case ColumnType::I8:
      return load_bits<std::int8_t>(data, row);
    case ColumnType::I16:
      return load_bits<std::int16_t>(data, row);
    case ColumnType::I32:
      return load_bits<std::int32_t>(data, row);
    case ColumnType::U8:
    case ColumnType::Enum:
      return load_bits<std::uint8_t>(data, row);
    case ColumnType::U16:
      return load_bits<std::uint16_t>(data, row);
    case ColumnType::U32:
    case ColumnType::Row:
    case ColumnType::String:
      return load_bits<std::uint32_t>(data, row);
    case ColumnType::I64:
    case ColumnType::U64:
    case ColumnType::F64:
      break;
  }
  return load_bits<std::uint64_t>(data, row);
}

bool ColumnView::is_null_at(std::size_t row) const {
  return has_nulls() && bits_at(row) == null_value;
}

const ColumnView* TableView::find(std::string_view column) const {
  for (const ColumnView& view : columns) {
    if (view.name == column) return &view;
  }
  return nullptr;
}

std::vector<std::string_view> table_names() {
  std::vector<std::string_view> names;
  TraceTables().visit_tables([&](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

std::shared_ptr<const TableView> table_view(const Trace& trace, std::string_view name) {
  auto view = std::make_shared<TableView>();
  view->trace = trace;
  trace.tables().visit_tables([&](const char* table_name, const auto& table) {
    if (table_name != name) return;
    view->name = table_name;
    view->size = table.size();
    table.visit_columns([&](const char* column_name, const auto& column) {
      view->columns.push_back(view_of(column_name, column));
    });
  });
  if (view->name == nullptr) return nullptr;
  return view;
}

}  // namespace sonde::python
