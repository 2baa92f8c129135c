// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/relation.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "trace/notes.h"

namespace sonde {
namespace {

template <typename T>
std::int64_t raw_value(T value) {
  if constexpr (IsId<T>::value) {
    return static_cast<std::int64_t>(value.value());
  } else {
    return static_cast<std::int64_t>(value);
  }
}

template <typename T>
const Column<T>& column_of(const void* source) {
  return *static_cast<const Column<T>*>(source);
}

template <typename T>
std::int64_t raw_at(const void* source, std::size_t row) {
  return raw_value(column_of<T>(source)[row]);
}

template <typename T>
std::size_t find_between(const void* source, std::size_t from, std::size_t to, std::int64_t low,
                         std::int64_t high) {
  return column_of<T>(source).find(from, to, [low, high](T value) {
    return raw_value(value) >= low && raw_value(value) <= high;
  });
}

template <typename T>
void copy_raw(const void* source, std::size_t first, std::size_t count, std::int64_t* out) {
  const Column<T>& column = column_of<T>(source);
  std::array<T, detail::kPackedRows> values;
  const std::size_t end = first + count;
  while (first < end) {
    const std::size_t rows =
        std::min(detail::kPackedRows - first % detail::kPackedRows, end - first);
    column.read(first, rows, values.data());
    out = std::transform(values.data(), values.data() + rows, out, raw_value<T>);
    first += rows;
  }
}

template <typename T>
std::string_view label_of(std::int64_t raw) {
  return to_string(static_cast<T>(raw));
}

double real_at(const void* source, std::size_t row) {
  return column_of<double>(source)[row];
}

template <typename T>
const FieldReader& reader_of() {
  if constexpr (std::is_same_v<T, double>) {
    static constexpr FieldReader kReader = {.real = real_at};
    return kReader;
  } else if constexpr (std::is_enum_v<T>) {
    static constexpr FieldReader kReader = {
        .raw = raw_at<T>, .label = label_of<T>, .find = find_between<T>, .copy = copy_raw<T>};
    return kReader;
  } else {
    static constexpr FieldReader kReader = {
        .raw = raw_at<T>, .find = find_between<T>, .copy = copy_raw<T>};
    return kReader;
  }
}

template <typename T>
void describe(const Column<T>& column, const ColumnNote& note, Field& field) {
  if constexpr (std::is_same_v<T, StringId>) {
    field.type = FieldType::Name;
  } else if constexpr (IsId<T>::value) {
    field.type = FieldType::Reference;
    field.refers_to = T::TagType::kTable;
  } else if constexpr (std::is_enum_v<T>) {
    field.type = FieldType::Label;
  } else if constexpr (std::is_same_v<T, double>) {
    field.type = FieldType::Real;
  }
  if constexpr (!std::is_enum_v<T>) {
    field.null = IsId<T>::value ? std::int64_t{StringId::kInvalid} : 0;
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a small number, not a character
    if constexpr (!IsId<T>::value) field.null = static_cast<std::int64_t>(column.null_value());
    field.has_null = field.null != 0 || note.zero_is_none;
  }
}

template <typename Table>
Relation relation_of(std::string_view name, const Table& table) {
  Relation made = {.table = Table::kTable, .name = name, .rows = table.size(), .fields = {}};
  table.visit_columns([&made](std::string_view column_name, const auto& column) {
    using T = typename std::decay_t<decltype(column)>::ValueType;
    const ColumnNote note = column_note(Table::kTable, column_name);
    Field field = {.name = column_name == "id" ? "number" : column_name,
                   .unit = note.unit,
                   .doc = note.doc,
                   .source = &column,
                   .reader = &reader_of<T>()};
    describe(column, note, field);
    made.fields.push_back(field);
  });
  return made;
}

// `of_row` is a row of the table that `of_table` names.
void link_extras(const Trace& trace, Relation& extras) {
  for (Field& field : extras.fields) {
    if (field.name != "of_row") continue;
    field.type = FieldType::Reference;
    field.refers_by_row = &trace.extras().of_table;
  }
}

}  // namespace

const Field* Relation::find(std::string_view field) const noexcept {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

Relation relation(const Trace& trace, TableKind table) {
  Relation made;
  trace.tables().visit_tables([&](std::string_view name, const auto& columns) {
    using Table = std::decay_t<decltype(columns)>;
    if (Table::kTable == table) made = relation_of(name, columns);
  });
  if (table == TableKind::Extras) link_extras(trace, made);
  return made;
}

std::vector<TableKind> all_tables() {
  std::vector<TableKind> kinds;
  const TraceTables none;
  none.visit_tables([&](std::string_view, const auto& columns) {
    kinds.push_back(std::decay_t<decltype(columns)>::kTable);
  });
  return kinds;
}

}  // namespace sonde
