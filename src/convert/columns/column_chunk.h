// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The columns of a table as files of columns hold them: 64-bit integers, doubles and texts, in
// groups of rows.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

enum class ColumnType : std::uint8_t { Int64, Double, Text };

struct ColumnSpec {
  std::string name;
  ColumnType type = ColumnType::Int64;
  bool is_optional = false;  // values may be NULL
};

// The values of one column in one group of rows. Texts are well-formed UTF-8.
struct ColumnValues {
  std::vector<std::int64_t> numbers;    // of Int64, without those that are NULL
  std::vector<double> reals;            // of Double, likewise
  std::vector<std::uint32_t> indices;   // of Text, likewise: places in `texts`
  std::vector<std::string_view> texts;  // each once
  std::vector<bool> present;            // for each row, if the column is optional
};

}  // namespace sonde
