// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Puts rows of a table in order, by keys instead of by SQLite's own sorter, which copies whole
// rows.

#include <cstdint>
#include <vector>

#include "sql/table.h"

namespace sonde::sql {

// A row of a part.
struct RowAt {
  std::uint32_t part;
  std::uint32_t row;
};

// Rows that are equal in all terms keep their order. As in SQLite, NULL comes before every value,
// and texts are compared byte by byte.
void put_in_order(const std::vector<Part>& parts, const std::vector<OrderTerm>& order,
                  std::vector<RowAt>& rows);

}  // namespace sonde::sql
