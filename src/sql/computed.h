// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Tables whose rows are computed from a trace, such as `operators` and `steps`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sql/table.h"

namespace sonde::sql {

inline constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();

// The values of one column. Which vector counts depends on the type.
struct ComputedColumn {
  std::vector<std::int64_t> numbers;  // kNull: NULL
  std::vector<double> reals;          // NaN: NULL
  std::vector<std::string> texts;     // empty: NULL
  std::string_view (*label)(std::int64_t raw) = nullptr;
  // Fills it when it is first read, if set.
  std::function<void(ComputedColumn& column)> fill;
};

// Makes the part of one trace, column by column.
//
//   ComputedPart part(source);
//   auto& count = part.integer("count", "How often it ran");
//   count.push_back(3);
//   return part.finish(1);
class ComputedPart {
 public:
  explicit ComputedPart(Source& source);

  const Trace& trace() const { return source_.trace; }

  std::vector<std::int64_t>& integer(std::string_view name, std::string_view doc,
                                     std::string_view unit = "");
  std::vector<std::int64_t>& nanos(std::string_view name, std::string_view doc) {
    return integer(name, doc, "ns");
  }
  std::vector<std::int64_t>& bytes(std::string_view name, std::string_view doc) {
    return integer(name, doc, "bytes");
  }
  // Rows of another table; Id::kInvalid is NULL.
  std::vector<std::int64_t>& reference(std::string_view name, TableKind table,
                                       std::string_view doc);
  // Numbers of strings of the trace.
  std::vector<std::int64_t>& name(std::string_view name, std::string_view doc);
  std::vector<std::int64_t>& kind(std::string_view name, std::string_view doc);
  std::vector<double>& real(std::string_view name, std::string_view doc,
                            std::string_view unit = "");
  std::vector<std::string>& text(std::string_view name, std::string_view doc);
  // A column of integers that is filled when it is first read.
  void later(std::string_view name, std::string_view doc, std::string_view unit,
             std::function<void(ComputedColumn& column)> fill);

  Part finish(std::size_t rows);

 private:
  ComputedColumn& add(Field field);

  Source& source_;
  Part part_;
};

Part operators_part(Source& source);
Part kernel_stats_part(Source& source);
Part steps_part(Source& source);
Part streams_part(Source& source);
Part gaps_part(Source& source);
Part memory_blocks_part(Source& source);
Part findings_part(Source& source);
Part key_averages_part(Source& source);

}  // namespace sonde::sql
