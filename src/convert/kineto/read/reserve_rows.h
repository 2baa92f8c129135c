// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// For tables that get millions of rows one by one.
//
//   reserve_rows(table, rows.size());
//   for (const Row& row : rows) {
//     table.push_back(row);
//     ask_for_big_columns(table, rows.size());
//   }

#include <cstddef>

#include "base/big_vector.h"

namespace sonde {

template <typename Table>
void reserve_rows(Table& table, std::size_t rows) {
  table.visit_columns([rows](const char*, auto& column) { column.reserve(rows); });
}

// Asks for huge pages for the columns of a table that will have `rows` rows. A column has no memory
// before its first value, so all columns are checked again whenever the number of rows has doubled.
template <typename Table>
void ask_for_big_columns(Table& table, std::size_t rows) {
  const std::size_t size = table.size();
  if ((size & (size - 1)) != 0) return;
  table.visit_columns([rows](const char*, auto& column) {
    if (column.materialised()) ask_for_huge_pages(column.data(), rows * sizeof(*column.data()));
  });
}

}  // namespace sonde
