// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sonde/sql.h"

namespace sonde::sql {

inline constexpr const char* kOnlyReads = "queries can only read: SELECT, WITH, VALUES and EXPLAIN";

// What SQLite says about a query that is wrong, with what was probably meant.
std::string with_hint(const std::string& message, std::string_view query,
                      const std::vector<SqlTable>& tables);

}  // namespace sonde::sql
