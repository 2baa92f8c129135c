// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A condition on one column with its value, checked as SQLite would check it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sql/plan.h"
#include "sql/table.h"

struct sqlite3_value;

namespace sonde::sql {

// The value of a condition, apart from any trace.
struct Operand {
  enum class Kind : std::uint8_t {
    Nothing,  // no row can satisfy it
    Numbers,  // from low to high
    Text,
    IsNull,
    NotNull,
    Anything,  // every row that is not NULL satisfies it
  };
  Kind kind = Kind::Nothing;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string_view text;  // lives as long as SQLite's value
};
Operand operand_of(const Field& field, Comparison comparison, sqlite3_value* value);

// The condition for the rows of one part. A join asks with another value for each row of the other
// table: what does not change is worked out once.
class Filter {
 public:
  Filter(const Condition& condition, const Part& part);
  void set(const Operand& operand);

  std::size_t field() const { return field_number_; }
  // No row of the part can pass.
  bool is_never() const { return kind_ == Kind::Never; }
  // Only rows whose raw value lies in between can pass.
  bool has_range() const { return kind_ == Kind::Range; }
  std::int64_t low() const { return low_; }
  std::int64_t high() const { return high_; }
  // The raw value must be this one.
  bool has_value() const { return has_range() && low_ == high_; }
  // How few rows a value is likely to leave. Many rows share a kind, a track or a rank; few share a
  // correlation number or a parent.
  int sharpness() const { return has_value() ? sharpness_ : 0; }
  // Rows of spans are in time order on each track.
  bool is_start_of_spans() const { return is_start_of_spans_; }

  bool passes(std::size_t row) const;

 private:
  enum class Kind : std::uint8_t { Never, Range, Null, NotNull, Names, Labels, Text };
  void set_range(const Operand& operand);
  void set_text(std::string_view text);
  void match_names();
  void match_labels();

  Kind kind_ = Kind::Never;
  Comparison comparison_;
  std::size_t field_number_;
  const Part* part_;
  const Field* column_;
  int sharpness_;
  bool is_start_of_spans_;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
  std::vector<bool> names_;  // by number in the pool
  std::array<bool, 256> labels_{};
  std::string text_;
  bool has_text_ = false;  // text_ is what the condition was last set to
};

}  // namespace sonde::sql
