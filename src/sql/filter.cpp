// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/filter.h"

#include <sqlite3.h>

#include <cmath>
#include <limits>

namespace sonde::sql {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Operand between(std::int64_t low, std::int64_t high) {
  if (low > high) return {};
  return {Operand::Kind::Numbers, low, high, {}};
}

Operand compared_with(Comparison comparison, std::int64_t value) {
  switch (comparison) {
    case Comparison::Equal:
      return between(value, value);
    case Comparison::Less:
      return value == kLeast ? Operand{} : between(kLeast, value - 1);
    case Comparison::AtMost:
      return between(kLeast, value);
    case Comparison::Greater:
      return value == kMost ? Operand{} : between(value + 1, kMost);
    default:
      return between(value, kMost);
  }
}

// An integer compared with a number that need not be one.
Operand compared_with(Comparison comparison, double value) {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  const double whole = std::floor(value);
  const bool is_above = value >= kBeyond;
  if (is_above || value < -kBeyond) {
    const bool all = is_above
                         ? comparison == Comparison::Less || comparison == Comparison::AtMost
                         : comparison == Comparison::Greater || comparison == Comparison::AtLeast;
    return all ? between(kLeast, kMost) : Operand{};
  }
  const auto below = static_cast<std::int64_t>(whole);
  if (whole == value) return compared_with(comparison, below);
  if (comparison == Comparison::Equal) return {};
  const bool is_upper = comparison == Comparison::Less || comparison == Comparison::AtMost;
  return compared_with(is_upper ? Comparison::AtMost : Comparison::Greater, below);
}

// Any text and any blob is greater than every number.
Operand compared_with_text(Comparison comparison) {
  if (comparison == Comparison::Less || comparison == Comparison::AtMost)
    return {Operand::Kind::Anything, 0, 0, {}};
  return {};
}

Operand number_operand(Comparison comparison, sqlite3_value* value) {
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
      return compared_with(comparison, std::int64_t{sqlite3_value_int64(value)});
    case SQLITE_FLOAT:
      return compared_with(comparison, sqlite3_value_double(value));
    case SQLITE_NULL:
      return {};
    default:
      return compared_with_text(comparison);
  }
}

bool matches(Comparison comparison, const std::string& pattern, std::string_view text) {
  if (comparison == Comparison::Equal) return text == pattern;
  const std::string ended(text);
  return comparison == Comparison::Like ? sqlite3_strlike(pattern.c_str(), ended.c_str(), 0) == 0
                                        : sqlite3_strglob(pattern.c_str(), ended.c_str()) == 0;
}

std::int64_t minus_bounded(std::int64_t value, std::int64_t base) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(value, base, &difference)) return difference;
  return value < 0 ? kLeast : kMost;
}

int sharpness_of(const Field& field) {
  if (field.type == FieldType::Label || field.name == "rank" || field.name == "track" ||
      field.name == "process")
    return 1;
  return field.type == FieldType::Name ? 2 : 3;
}

}  // namespace

Operand operand_of(const Field& field, Comparison comparison, sqlite3_value* value) {
  if (comparison == Comparison::IsNull) return {Operand::Kind::IsNull, 0, 0, {}};
  if (comparison == Comparison::NotNull) return {Operand::Kind::NotNull, 0, 0, {}};
  if (field.type == FieldType::Integer || field.type == FieldType::Reference)
    return number_operand(comparison, value);
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_NULL || (type == SQLITE_BLOB && comparison == Comparison::Equal)) return {};
  const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
  if (text == nullptr) return {};
  return {Operand::Kind::Text, 0, 0, {text, size}};
}

Filter::Filter(const Condition& condition, const Part& part)
    : comparison_(condition.comparison),
      field_number_(condition.field),
      part_(&part),
      column_(&part.fields[condition.field]),
      sharpness_(sharpness_of(*column_)),
      is_start_of_spans_(column_->source == &part.source->trace.spans().start_ns &&
                         column_->name == "start_ns") {}

void Filter::set(const Operand& operand) {
  if (operand.kind == Operand::Kind::Text) return set_text(operand.text);
  has_text_ = false;
  switch (operand.kind) {
    case Operand::Kind::Numbers:
      return set_range(operand);
    case Operand::Kind::IsNull:
      kind_ = column_->has_null ? Kind::Null : Kind::Never;
      return;
    case Operand::Kind::NotNull:
    case Operand::Kind::Anything:
      kind_ = Kind::NotNull;
      return;
    default:
      kind_ = Kind::Never;
  }
}

void Filter::set_range(const Operand& operand) {
  kind_ = Kind::Range;
  low_ = operand.low;
  high_ = operand.high;
  if (column_->type != FieldType::Reference) return;
  const std::int64_t base = part_->base_of(*column_, 0);
  low_ = minus_bounded(low_, base);
  high_ = minus_bounded(high_, base);
}

void Filter::set_text(std::string_view text) {
  if (has_text_ && text == text_) return;
  has_text_ = true;
  text_ = text;
  kind_ = Kind::Never;
  if (column_->type == FieldType::Name) {
    match_names();
  } else if (column_->type == FieldType::Label) {
    match_labels();
  } else {
    kind_ = Kind::Text;
  }
}

// Checks each distinct text once, not each row.
void Filter::match_names() {
  if (comparison_ == Comparison::Equal) {
    std::size_t count = 0;
    part_->source->names.for_each(text_, [&](std::uint32_t id) {
      low_ = high_ = id;
      ++count;
    });
    if (count == 1) kind_ = Kind::Range;
    if (count <= 1) return;
  }
  const StringPool& strings = part_->source->trace.strings();
  kind_ = Kind::Names;
  names_.assign(strings.size(), false);
  for (std::uint32_t id = 0; id < strings.size(); ++id)
    names_[id] = matches(comparison_, text_, strings[StringId(id)]);
}

void Filter::match_labels() {
  std::size_t count = 0;
  for (std::size_t raw = 0; raw < labels_.size(); ++raw) {
    labels_[raw] = matches(comparison_, text_, column_->reader->label(static_cast<int>(raw)));
    if (!labels_[raw]) continue;
    if (count++ == 0) low_ = static_cast<std::int64_t>(raw);
    high_ = static_cast<std::int64_t>(raw);
  }
  if (count > 0) kind_ = count == 1 ? Kind::Range : Kind::Labels;
}

bool Filter::passes(std::size_t row) const {
  if (kind_ == Kind::Text) return column_->reader->text(column_->source, row) == text_;
  if (kind_ == Kind::Never) return false;
  const std::int64_t raw = column_->raw(row);
  const bool is_null = column_->is_null(raw);
  switch (kind_) {
    case Kind::Range:
      return !is_null && raw >= low_ && raw <= high_;
    case Kind::Null:
      return is_null;
    case Kind::NotNull:
      return !is_null;
    case Kind::Names:
      return !is_null && names_[static_cast<std::size_t>(raw)];
    case Kind::Labels:
      return labels_[static_cast<std::size_t>(raw) & 0xff];
    default:
      return false;
  }
}

}  // namespace sonde::sql
