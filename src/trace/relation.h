// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The tables of a trace as databases and column files see them: rows of integers, numbers and
// texts, each of which may be NULL.
//
//   const Relation spans = relation(trace, TableKind::Spans);
//   for (const Field& field : spans.fields) field.raw(row) …
//
// A column that the model calls `id` is called `number` here, because `id` is a row's own number.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde {

enum class FieldType : std::uint8_t {
  Integer,
  Real,
  Name,       // raw() is the number of a string in the trace's pool
  Label,      // raw() is an enumerator, label() its text
  Reference,  // raw() is a row of `refers_to`
  Text,       // text() has it; only in tables that are computed
};

// How the values of one type of column are read.
struct FieldReader {
  std::int64_t (*raw)(const void* source, std::size_t row) = nullptr;       // not of Real and Text
  double (*real)(const void* source, std::size_t row) = nullptr;            // of Real only
  std::string_view (*label)(std::int64_t raw) = nullptr;                    // of Label only
  std::string_view (*text)(const void* source, std::size_t row) = nullptr;  // of Text only
  // The first row from `from` with low <= raw <= high, or `to`. If null, raw() has to do.
  std::size_t (*find)(const void* source, std::size_t from, std::size_t to, std::int64_t low,
                      std::int64_t high) = nullptr;
  // raw() of neighbouring rows.
  void (*copy)(const void* source, std::size_t first, std::size_t count,
               std::int64_t* out) = nullptr;
};

struct Field {
  std::string_view name;
  std::string_view unit;
  std::string_view doc;
  FieldType type = FieldType::Integer;
  TableKind refers_to = TableKind::None;
  bool has_null = false;
  std::int64_t null = 0;  // the raw value that is NULL, if has_null
  const void* source = nullptr;
  const FieldReader* reader = nullptr;
  // Of a Reference: the column that names the table of each row, if that is not refers_to.
  const Column<TableKind>* refers_by_row = nullptr;

  std::int64_t raw(std::size_t row) const { return reader->raw(source, row); }
  double real(std::size_t row) const { return reader->real(source, row); }
  bool is_null(std::int64_t raw_value) const { return has_null && raw_value == null; }
  bool is_null_real(double value) const {
    return value != value || (has_null && value == static_cast<double>(null));
  }
};

struct Relation {
  TableKind table = TableKind::None;
  std::string_view name;
  std::size_t rows = 0;
  std::vector<Field> fields;

  // Null if there is none.
  const Field* find(std::string_view field) const noexcept;
};

// Valid as long as some copy of the trace.
Relation relation(const Trace& trace, TableKind table);
// All tables, in the order of the model.
std::vector<TableKind> all_tables();

}  // namespace sonde
