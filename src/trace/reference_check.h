// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes tables of unknown origin safe to read.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/result.h"
#include "sonde/trace/strings.h"
#include "sonde/trace/tables_gen.h"

namespace sonde {

// What was cleared or corrected in one column.
struct Correction {
  std::string what;  // "spans.name: no such row in strings"
  std::uint64_t count;
};

// Fails unless all columns of each table have the same length, and ids can count it.
Result<void> check_lengths(const TraceTables& tables);

// Clears ids of rows that do not exist, ranges that exceed their table, and unknown enumerators.
// Limits times and durations so that no sum or difference overflows.
std::vector<Correction> correct_values(TraceTables& tables, const StringPool& strings);

// Clears parents (of spans, stacks, modules) that do not come before their child, so that every
// walk upwards ends. Call it when rows are in their final order.
std::vector<Correction> correct_parents(TraceTables& tables);

}  // namespace sonde
