// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What schema/trace.toml says about tables and columns, for those who show or export them.

#include <string_view>

#include "sonde/trace/tables_gen.h"

namespace sonde {

struct ColumnNote {
  std::string_view unit;  // "ns", "bytes"; empty: none
  std::string_view doc;   // empty: the name says it all
  bool zero_is_none = false;
};

std::string_view table_note(TableKind table);
ColumnNote column_note(TableKind table, std::string_view column);

}  // namespace sonde
