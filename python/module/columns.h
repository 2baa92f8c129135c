// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The tables of a trace as columns whose type is known at run time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde::python {

enum class ColumnType : std::uint8_t {
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F64,
  Row,
  String,
  Enum
};

struct ColumnView {
  const char* name = nullptr;
  ColumnType type = ColumnType::I64;
  std::size_t item_bytes = 8;
  std::size_t size = 0;
  const void* data = nullptr;    // null: every value is `null_value`
  std::uint64_t null_value = 0;  // its bits
  std::string_view (*enum_text)(std::uint8_t value) = nullptr;

  // Whether the null value means "none": ids of rows that do not exist, and -1.
  bool has_nulls() const;
  bool is_null_at(std::size_t row) const;
  // The bits of a value; signed types are sign-extended.
  std::uint64_t bits_at(std::size_t row) const;
};

struct TableView {
  Trace trace;  // keeps the columns
  const char* name = nullptr;
  std::size_t size = 0;
  std::vector<ColumnView> columns;

  const ColumnView* find(std::string_view column) const;
};

std::vector<std::string_view> table_names();
// Null if there is no such table.
std::shared_ptr<const TableView> table_view(const Trace& trace, std::string_view name);

}  // namespace sonde::python
